"""CUDA devices: kernels are one module of device code that the runtime gives to the driver; weights and results lie in the
device's memory, in PyTorch's context and in the order of its current stream."""

from __future__ import annotations

import ctypes
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from backends.acrobat import versions
from backends.acrobat.codegen.build import cached
from backends.acrobat.codegen.cuda.units import CudaUnitWriter
from backends.acrobat.codegen.device import Artefacts, Device, Memory
from backends.acrobat.core.toolchain import BuildError
from backends.acrobat.core.unwritten import Source
from backends.acrobat.errors import DeviceError
from backends.acrobat.kernels.cuda.build import EMULATION, Image, Usage, cubin, version
from backends.acrobat.kernels.cuda.build import HERE as KERNELS
from backends.acrobat.kernels.cuda.emit import symbol, variants
from backends.acrobat.kernels.cuda.module import HEADERS, module_text, names, walk_shared
from backends.acrobat.kernels.cuda.target import CudaTarget, Driver, UnsupportedCuda
from backends.acrobat.kernels.interface import CudaCode, Emitted, Request, Schedules
from backends.acrobat.options import Options
from backends.acrobat.settings import Settings
from backends.acrobat.tuning.cuda import tune
from backends.acrobat.tuning.tune import Guide

TEXT, IMAGE, USAGE = "kernels.cu", "kernels.cubin", "usage.json"
"""Files: the CUDA C++ of a build's kernels, the code compiled from it for one architecture, and the resources it uses
(`Usage`)."""
ORDINAL = 0
"""The number of the device that is used, among those that the driver shows (`CUDA_VISIBLE_DEVICES` selects them)."""


class Cuda(Device):
    """CUDA devices; the methods are described in `Device`."""

    name = "cuda"
    emit = staticmethod(variants)
    writer = CudaUnitWriter

    def check(self, settings: Settings) -> None:
        if settings.options.kernels != "generated":
            raise ValueError(
                f"kernels={settings.options.kernels!r} with device='cuda': a library's kernels cannot be steps of a walk; "
                "leave one of them out"
            )
        if settings.options.isa != "native":
            raise ValueError(
                f"isa={settings.options.isa!r} with device='cuda': an instruction set of processors; leave one out"
            )
        if settings.untuned:
            raise ValueError(
                "untuned with device='cuda': kernels for it have no plain loops to begin with; leave one of them out"
            )

    def target(self, options: Options) -> CudaTarget:
        target = replace(CudaTarget.detect(ORDINAL), precision=options.precision)
        if not target.emulated:
            check_versions(Driver().version(), version())
        return target

    def wave(self, options: Options) -> int:
        """By default a mini-batch is one wave: launches gain from each further row, and only processors' caches need waves."""
        return 0 if options.wave == Options().wave else options.wave

    def code_generator(self) -> str:
        """NVRTC's version. (On an emulated device the C++ compiler makes kernels; every build's key has its version anyway.)"""
        try:
            return "NVRTC {}.{}".format(*version())
        except BuildError:
            return "no NVRTC"

    def artefacts(
        self, kernels: Mapping[str, Emitted[CudaCode]], target: CudaTarget, options: Options, flags: Sequence[str] = ()
    ) -> Artefacts:
        codes = list(kernels.values())
        is_walk = options.launch == "walk"
        text = module_text(codes, (options.launch,))
        image = image_of(text, target, flags)
        shared = {e.symbol: e.code.shared_bytes for e in codes}
        manifest = {
            "library": False,
            "instruction_set": target.arch,
            "second_level": target.second_level,
            "generator": "emulated" if target.emulated else "NVRTC {}.{}".format(*version()),
            "target": asdict(target),
            "walk_shared": walk_shared(codes),
            "launch": options.launch,
            "entries": [] if is_walk else [{"name": f"launch_{name}", "shared": shared.get(name, 0)} for name in names(codes)],
            "kernels": {
                name: {"flops_per_row": e.flops_per_row, "schedule": asdict(e.schedule), "shared": e.code.shared_bytes}
                for name, e in kernels.items()
            },
            "usage": {name: asdict(usage) for name, usage in image.usage.items()},
        }
        return Artefacts(manifest, files={TEXT: text.encode(), IMAGE: image.content})

    def symbol(self, request: Request, target: CudaTarget) -> str:
        return symbol(request.kernel, request.out_mode, target)

    def tuned(
        self, requests: Sequence[Request], target: CudaTarget, settings: Settings, guide: Guide, folder: Path
    ) -> Mapping[Request, Schedules]:
        return tune(requests, target, settings.tune, guide, folder)

    def memory(self, manifest: Mapping[str, Any], folder: Path) -> Memory:
        return CudaMemory(manifest, folder)


def image_of(text: str, target: CudaTarget, flags: Sequence[str] = ()) -> Image:
    """Compiles the device's code or takes it from the user's cache folder, where builds with the same kernels share it. `flags`
    are for the C++ compiler, which makes the code for an emulated device only."""
    made_by = versions.cpp_compiler() if target.emulated else str(version())
    headers = [(KERNELS / name).read_text() for name in (*HEADERS, EMULATION)]
    key = hashlib.sha256(repr((text, target, made_by, headers, tuple(flags))).encode()).hexdigest()[:32]

    def make(folder: Path) -> None:
        image = cubin(text, target, flags)
        (folder / IMAGE).write_bytes(image.content)
        (folder / USAGE).write_text(json.dumps({name: asdict(usage) for name, usage in image.usage.items()}))

    folder = cached(f"cuda-{key}", make)
    usage = {name: Usage(**u) for name, u in json.loads((folder / USAGE).read_text()).items()}
    return Image((folder / IMAGE).read_bytes(), usage)


def check_versions(driver: tuple[int, int], compiler: tuple[int, int]) -> None:
    """Raises UnsupportedCuda if the compiler has a newer major version than the driver, which then cannot load its code."""
    if driver[0] < compiler[0]:
        raise UnsupportedCuda(
            f"the driver knows CUDA {driver[0]}.{driver[1]}, but PyTorch's NVRTC makes code for {compiler[0]}.{compiler[1]}: "
            f"install a newer driver, or a PyTorch that is built for CUDA {driver[0]}, or use device=cpu"
        )


class CudaMemory(Memory):
    """Memory of a CUDA device, or of this process for an emulated one."""

    base = 0
    shared = False

    def __init__(self, manifest: Mapping[str, Any], folder: Path) -> None:
        self._manifest = manifest
        self._emulated = manifest["target"]["arch"] == "emulated"
        self._image = (folder / IMAGE).read_bytes()
        self.outputs = "cpu" if self._emulated else f"cuda:{ORDINAL}"

    def open(self, lib: SimpleNamespace, session: int, options: Options) -> None:
        entries = self._manifest["entries"]
        launches = (ctypes.c_char_p * len(entries))(*(entry["name"].encode() for entry in entries))
        shared = (ctypes.c_int * len(entries))(*(entry["shared"] for entry in entries))
        self._lib, self._session = lib, session
        if not self._emulated:
            import torch

            present = CudaTarget.detect(ORDINAL)
            if present.arch != self._manifest["target"]["arch"]:
                raise DeviceError(
                    f"this build is for {self._manifest['target']['arch']}, the device is {present.name} ({present.arch})"
                )
            # PyTorch takes half a second for its own start on the device, which the first call would wait for.
            torch.zeros(1, device=self.outputs).cpu()
        lib.acrobat_cuda_open(
            *(session, ORDINAL, int(self._manifest["launch"] == "walk"), self._image, self._manifest["walk_shared"]),
            *(len(entries), launches, shared, int(self._emulated)),
        )

    def arrays(self, arrays: Sequence[Source]) -> CudaArrays:
        return CudaArrays(self._lib, self._session, arrays)

    def synchronize(self) -> None:
        """Waits for the device. A call on an emulated device has waited already: its results are tensors of the CPU."""
        if not self._emulated:
            import torch

            torch.cuda.synchronize(ORDINAL)

    def enter(self) -> None:
        if not self._emulated:
            import torch

            self._lib.acrobat_cuda_stream(self._session, torch.cuda.current_stream(ORDINAL).cuda_stream)


class CudaArrays:
    """Arrays one after the other in the device's memory, which is freed when the session is destroyed."""

    def __init__(self, lib: SimpleNamespace, session: int, arrays: Sequence[Source]) -> None:
        self._lib, self._session = lib, session
        sizes = [-(-a.nbytes // ALIGN) * ALIGN for a in arrays]
        self._starts = [sum(sizes[:i]) for i in range(len(sizes))]
        together = np.zeros(max(sum(sizes), ALIGN), np.uint8)
        for array, start in zip(arrays, self._starts, strict=True):
            together[start : start + array.nbytes] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        self.base: int = lib.acrobat_cuda_hold(session, together.ctypes.data, together.nbytes)

    def fill(self, index: int, array: Source) -> None:
        values = np.ascontiguousarray(array)
        self._lib.acrobat_cuda_refill(self._session, self.address(index), values.ctypes.data, values.nbytes)

    def address(self, index: int) -> int:
        return self.base + self._starts[index]


ALIGN = 256
"""The alignment of arrays in bytes, which is that of the driver's own allocations."""
