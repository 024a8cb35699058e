"""Compiles a module's text: with NVRTC, which comes with PyTorch for CUDA, to a cubin for one architecture; for an emulated
device with the C++ compiler, to a shared object that takes the cubin's place."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from backends.acrobat.core.toolchain import BuildError, compiler
from backends.acrobat.kernels.cuda.module import HEADERS
from backends.acrobat.kernels.cuda.target import CudaTarget

HERE = Path(__file__).parent
EMULATION = "emulate.h"


@dataclass(frozen=True, slots=True)
class Usage:
    """What one entry of a cubin needs, together with the functions that it calls: registers of a thread, bytes of spilled
    registers stored to and loaded from local memory, bytes of the stack, and bytes of static shared memory. `saved` is the most
    bytes of registers that one of the functions stores, as a function does with those of its caller: as many loads belong to
    that, and only further ones count as spilled."""

    registers: int
    spilled: int
    saved: int
    stack: int
    shared: int


@dataclass(frozen=True, slots=True)
class Image:
    """A module's code for the device, and what its entries need."""

    content: bytes
    usage: Mapping[str, Usage] = field(default_factory=dict)
    """By entry; empty for an emulated device."""


def cubin(text: str, target: CudaTarget, flags: Sequence[str] = ()) -> Image:
    """The text compiled for the target; for an emulated device with these additional flags. Raises BuildError."""
    return emulated(text, ("-O1", *flags)) if target.emulated else compiled(text, target.arch)


def compiled(text: str, arch: str) -> Image:
    """The text compiled with NVRTC for an architecture, which needs no device. Raises BuildError."""
    nvrtc = _nvrtc()
    headers = [(HERE / name).read_bytes() for name in HEADERS]
    names = [name.encode() for name in HEADERS]
    program = _value_of(nvrtc, nvrtc.nvrtcCreateProgram(text.encode(), b"kernels.cu", len(headers), headers, names))
    options = [f"--gpu-architecture={arch}".encode(), b"-std=c++17", b"--ptxas-options=-v"]
    (result,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    log = b" " * _value_of(nvrtc, nvrtc.nvrtcGetProgramLogSize(program))
    _value_of(nvrtc, nvrtc.nvrtcGetProgramLog(program, log))
    messages = log.decode(errors="replace").rstrip("\0 \n")
    if result != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise BuildError(f"NVRTC does not compile the kernels for {arch}:\n{messages}")
    content = b" " * _value_of(nvrtc, nvrtc.nvrtcGetCUBINSize(program))
    _value_of(nvrtc, nvrtc.nvrtcGetCUBIN(program, content))
    _value_of(nvrtc, nvrtc.nvrtcDestroyProgram(program))
    return Image(content, usage_of(messages))


def version() -> tuple[int, int]:
    """NVRTC's version, such as (13, 0). Raises BuildError if there is none."""
    nvrtc = _nvrtc()
    result, major, minor = nvrtc.nvrtcVersion()
    _value_of(nvrtc, (result,))
    return int(major), int(minor)


def _nvrtc() -> Any:
    """Python's bindings of NVRTC. Raises BuildError if they or the library are missing."""
    try:
        from cuda.bindings import nvrtc

        nvrtc.nvrtcVersion()
    except (ImportError, RuntimeError) as error:
        raise BuildError(
            f"NVRTC is missing ({error}): install PyTorch for CUDA, which brings it, or this project's extra 'nvrtc'"
        ) from None
    return nvrtc


def _value_of(nvrtc: Any, outcome: tuple[Any, ...]) -> Any:
    """The value that a function of NVRTC returned beside its status, if any. Raises BuildError for the status of a failure."""
    result, *values = outcome
    if result != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        _, text = nvrtc.nvrtcGetErrorString(result)
        raise BuildError(f"NVRTC fails: {text.decode()}")
    return values[0] if values else None


def usage_of(log: str) -> dict[str, Usage]:
    """The Usage of each entry, from the log that `--ptxas-options=-v` makes."""
    usage = {}
    for part in log.split("Compiling entry function")[1:]:
        name = re.search(r"'(\w+)'", part)
        spills = re.findall(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", part)
        registers = re.search(r"Used (\d+) registers", part)
        shared = re.search(r"(\d+) bytes smem", part)
        if name and spills and registers:
            stack = max(int(s) for s, _, _ in spills)
            (_, stores, loads), *functions = [tuple(map(int, s)) for s in spills]
            spilled = stores + loads + sum(max(again - once, 0) for _, once, again in functions)
            saved = max((once for _, once, _ in functions), default=0)
            usage[name[1]] = Usage(int(registers[1]), spilled, saved, stack, int(shared[1]) if shared else 0)
    return usage


def emulated(text: str, flags: Sequence[str] = ("-O1",)) -> Image:
    """The text compiled with the C++ compiler and emulate.h. Raises BuildError."""
    with tempfile.TemporaryDirectory(prefix="acrobat-emulated-") as name:
        folder = Path(name)
        (folder / "kernels.cpp").write_text(text)
        command = [
            compiler(),
            "-std=c++20",
            *flags,
            "-fPIC",
            "-shared",
            "-DACROBAT_EMULATE",
            "-Wno-unknown-pragmas",
            f"-I{HERE}",
        ]
        command += [str(folder / "kernels.cpp"), "-o", str(folder / "kernels.so")]
        process = subprocess.run(command, capture_output=True, text=True)
        if process.returncode:
            raise BuildError(f"the C++ compiler does not compile the emulated kernels:\n{process.stderr[-4000:]}")
        return Image((folder / "kernels.so").read_bytes())
