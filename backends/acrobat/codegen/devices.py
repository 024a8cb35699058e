"""The table of devices. A new one is a folder beside `cpu/` here, in `kernels/` and in `runtime/`, and a line of this file."""

from __future__ import annotations

from collections.abc import Mapping

from backends.acrobat.codegen.cpu.device import Cpu
from backends.acrobat.codegen.cuda.device import Cuda
from backends.acrobat.codegen.device import Device

DEVICES: Mapping[str, Device] = {device.name: device for device in (Cpu(), Cuda())}
