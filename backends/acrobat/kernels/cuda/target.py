"""The CUDA device that kernels are compiled for, as its driver describes it; neither a toolkit nor PyTorch is needed."""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from typing import Any, ClassVar

from backends.acrobat.options import Precision

LIBRARY = "libcuda.so.1"
DRIVER = "ACROBAT_CUDA_DRIVER"
"""The environment variable that names another driver's library, such as the emulated one of the tests."""
EMULATED = "emulated"
"""The architecture of a device whose driver runs kernels on the processor. The name of such a device begins with it."""
OLDEST = (8, 0)
"""The oldest compute capability with what kernels need: asynchronous copies to shared memory, cooperative launches."""

CAPABILITY_MAJOR, CAPABILITY_MINOR, MULTIPROCESSORS, SHARED_MEMORY, SECOND_LEVEL, COOPERATIVE = 75, 76, 16, 97, 38, 95
"""Numbers of `CUdevice_attribute`, as NVIDIA's reference of the driver API lists them."""


class UnsupportedCuda(Exception):
    """There is no CUDA driver, no device, or the device is too old."""


@dataclass(frozen=True, slots=True)
class CudaTarget:
    """`arch` is NVRTC's name of the architecture, `sms` the number of multiprocessors, `shared` the bytes of shared memory that
    one block may have, `second_level` the bytes of the device's second-level cache."""

    name: str
    arch: str
    sms: int
    shared: int
    second_level: int
    precision: Precision = "fp32"
    """The precision that products of many rows may round operands to. It is part of the target since kernels depend on it."""

    device: ClassVar[str] = "cuda"

    @property
    def lanes(self) -> int:
        """1, since threads, and not vectors, compute neighbouring columns."""
        return 1

    @property
    def emulated(self) -> bool:
        """Whether the device's driver runs kernels on the processor."""
        return self.arch == EMULATED

    @staticmethod
    def detect(ordinal: int = 0) -> CudaTarget:
        """The device with the driver's number `ordinal`. Raises UnsupportedCuda if there is none that can be used."""
        driver = Driver()
        count, device = ctypes.c_int(), ctypes.c_int()
        driver("cuDeviceGetCount", ctypes.byref(count))
        if ordinal >= count.value:
            raise UnsupportedCuda(f"the CUDA driver knows {count.value} devices, so there is none with the number {ordinal}")
        driver("cuDeviceGet", ctypes.byref(device), ordinal)
        buffer = ctypes.create_string_buffer(256)
        driver("cuDeviceGetName", buffer, len(buffer), device)

        def attribute(number: int) -> int:
            value = ctypes.c_int()
            driver("cuDeviceGetAttribute", ctypes.byref(value), number, device)
            return value.value

        return choose(
            buffer.value.decode(errors="replace"),
            (attribute(CAPABILITY_MAJOR), attribute(CAPABILITY_MINOR)),
            bool(attribute(COOPERATIVE)),
            sms=attribute(MULTIPROCESSORS),
            shared=attribute(SHARED_MEMORY),
            second_level=attribute(SECOND_LEVEL),
        )


def choose(name: str, capability: tuple[int, int], cooperative: bool, sms: int, shared: int, second_level: int) -> CudaTarget:
    """The target for a device with these attributes. Raises UnsupportedCuda for one that is too old."""
    if capability < OLDEST or not cooperative:
        raise UnsupportedCuda(
            f"kernels need a device of compute capability {OLDEST[0]}.{OLDEST[1]} or newer; {name} has "
            f"{capability[0]}.{capability[1]}{'' if cooperative else ' without cooperative launches'}: use device=cpu"
        )
    # The suffix "a" allows the instructions that only this architecture has.
    arch = EMULATED if name.startswith(EMULATED) else f"sm_{capability[0]}{capability[1]}{'a' if capability >= (9, 0) else ''}"
    return CudaTarget(name, arch, sms, shared, second_level)


class Driver:
    """The CUDA driver in this process: `driver(function, *arguments)` raises UnsupportedCuda for a result that is an error."""

    def __init__(self) -> None:
        name = os.environ.get(DRIVER) or LIBRARY
        try:
            self._library: Any = ctypes.CDLL(name)
        except OSError as error:
            raise UnsupportedCuda(f"there is no CUDA driver ({error}): install NVIDIA's driver, or use device=cpu") from None
        self("cuInit", 0)

    def __call__(self, function: str, *arguments: Any) -> None:
        if result := getattr(self._library, function)(*arguments):
            text = ctypes.c_char_p()
            self._library.cuGetErrorString(result, ctypes.byref(text))
            problem = text.value.decode() if text.value else f"error {result}"
            raise UnsupportedCuda(
                f"the CUDA driver cannot be used: {function} says {problem}; use device=cpu, or mend the driver"
            )

    def version(self) -> tuple[int, int]:
        """The newest version of CUDA that the driver knows, such as (13, 0)."""
        number = ctypes.c_int()
        self("cuDriverGetVersion", ctypes.byref(number))
        return number.value // 1000, number.value % 1000 // 10
