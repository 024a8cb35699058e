"""What the harness's side of the compiler (`backend.py`) has to know of each device before anything is compiled.

The compiler has a table of devices of its own (`codegen/devices.py`), with all that makes code for them. Importing that takes
too long for the harness's process, which only asks whether a device is there and which settings are measured on it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from backends.acrobat.core.toolchain import BuildError
from backends.acrobat.kernels.cpu.target import CpuTarget, UnsupportedCpu
from backends.acrobat.kernels.cuda.target import CudaTarget, UnsupportedCuda
from backends.acrobat.options import Device, Options
from bench.contract import Unsupported


class MeasuredDevice(ABC):
    """One entry of the table."""

    name: ClassVar[Device]
    launches: ClassVar[Sequence[Mapping[str, Any]]] = ()
    """The settings that `ablation=alone` measures beside each switch turned off."""

    @abstractmethod
    def missing(self, options: Options) -> str | None:
        """Why mini-batches cannot run on this device here with these options; None if they can."""

    @abstractmethod
    def check(self, options: Options) -> None:
        """Raises Unsupported for options that the device cannot have by its nature, in the harness's words."""

    def emulated(self) -> bool:
        """Whether the processor emulates the device."""
        return False

    def steps(self, settings: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """The steps of the cumulative ablation on this device, of all those that there are (`ablation.steps`)."""
        return list(settings)


class Processor(MeasuredDevice):
    name = "cpu"

    def missing(self, options: Options) -> str | None:
        try:
            CpuTarget.detect(options.isa)
        except UnsupportedCpu as error:
            return str(error)
        return _missing_vendor(options) if options.kernels == "vendor" else None

    def check(self, options: Options) -> None:
        if options.precision != "fp32":
            raise Unsupported(
                f"precision={options.precision}: ACRoBat's kernels for processors are float32 alone; give device=cuda"
            )


class CudaDevice(MeasuredDevice):
    name = "cuda"
    launches = ({"launch": "launches"},)

    def missing(self, options: Options) -> str | None:
        import torch

        try:
            target = CudaTarget.detect()
        except UnsupportedCuda as error:
            return str(error)
        if not target.emulated and not torch.cuda.is_available():
            return "this PyTorch was built without CUDA, so it has no tensors there: install a build of PyTorch for CUDA"
        return None

    def check(self, options: Options) -> None:
        """There is nothing to refuse."""

    def emulated(self) -> bool:
        return CudaTarget.detect().emulated

    def steps(self, settings: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """A CUDA device has neither a vendor's kernels nor tuning; each step runs with `launch=launches`, and a last one with
        `launch=walk`."""
        generated = [row | {"launch": "launches"} for row in settings if row["kernels"] == "generated" and not row["tune"]]
        return [*generated, generated[-1] | {"step": "one launch", "launch": "walk"}]


MEASURED_DEVICES: Mapping[str, MeasuredDevice] = {device.name: device for device in (Processor(), CudaDevice())}


def _missing_vendor(options: Options) -> str | None:
    """Why the library for `kernels=vendor` cannot be used; None if it can."""
    from backends.acrobat.codegen import blas

    try:
        library = blas.find()
    except BuildError as error:
        return str(error)
    isa = options.isa
    if isa != "native" and library.instruction_set != isa:
        core = (blas.AVX2_CORES if isa == "avx2" else blas.AVX512_CORES)[0]
        return (
            f"isa={isa}, but {library.version} has chosen its kernels for {library.core or 'an unknown processor'}; "
            f'give it "+isolate.env.OPENBLAS_CORETYPE={core}", or leave isa=native'
        )
    return None
