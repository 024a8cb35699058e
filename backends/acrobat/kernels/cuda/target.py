"""The CUDA device that kernels are compiled for, as its driver describes it; neither a toolkit nor PyTorch is needed."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
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


@dataclass(frozen=True)
class CyclesOfFew:
    """The cycles that a tile of the template `few` takes, as factors of what it has to do."""

    tile: float
    """For its tables, the latency of its operands and its stores."""
    weight: float
    """For its part of the weight, by what that takes at `Multiprocessor.bytes_a_cycle`."""
    input: float
    """Likewise for its part of the input."""
    products: float
    """For its multiplications, by what these take at `Multiprocessor.products_a_cycle`."""
    exchange: float
    """For each exchange of sums between the lanes of a warp."""
    between_warps: float
    """For adding the sums of several warps."""


@dataclass(frozen=True)
class Multiprocessor:
    """What was measured of the tiled templates on a multiprocessor of one architecture. A card of another architecture on which
    they do otherwise has a description of its own."""

    bytes_a_cycle: int
    """The bytes of operands that come from the second-level cache."""
    products_a_cycle: int
    """The multiply-adds that it begins."""
    step: float
    """The cycles that a launch's step takes beside its tiles and its barrier."""
    few: CyclesOfFew
    tile_of_many: float
    """The cycles that a tile of the template `many` takes beside its operands and its multiplications."""
    operands_of_many: float
    """The factor for its operands, by what they take at `bytes_a_cycle`: while they come, other tiles compute."""
    most_sums: int
    """The most sums that a thread keeps in registers."""
    share_of_peak: Mapping[int, tuple[float, ...]]
    """The share of `products_a_cycle` that the templates reach between the beginning and the end of a tile, by their rows (RT)
    and then by panels times gates."""
    on_tensor_cores: Mapping[int, float]
    """The same for TF32 and bfloat16, by their rows."""


HOPPER = Multiprocessor(
    bytes_a_cycle=64,
    products_a_cycle=128,
    step=700,
    few=CyclesOfFew(tile=375, weight=1.59, input=1.31, products=0.865, exchange=4.32, between_warps=910),
    tile_of_many=1400,
    operands_of_many=0.25,
    most_sums=128,
    share_of_peak={
        2: (0.34, 0.40, 0.42, 0.44),
        4: (0.45, 0.54, 0.56, 0.58),
        8: (0.54, 0.64, 0.64, 0.63),
        12: (0.55, 0.62),
    },
    on_tensor_cores={2: 1.6, 4: 2.4, 8: 3.2},
)
"""The factors of `few` were fitted to 1404 times on an H100 (ten products of treelstm, drnn, nestedrnn, stackrnn, mvrnn and
birnn with all schedules, 8 to 4096 rows): the error is 13 %, and the schedule that they choose is 2.7 % slower on average than
the fastest one.

The shares for 4 x 2, 4 x 4, 8 x 2, 8 x 3, 8 x 4 and 12 x 2 were measured on an H100 with the products of Berxit, the
others are assumed. All in all its products reach 41 to 42 of 65.8 TFLOP/s where tiles fill the multiprocessors. With two blocks
of 128 x 128 on each multiprocessor a prototype was as fast, but tiles then divide worse. What tensor cores reach is bounded by
reads of the operands from shared memory (a lane reads 16 to 20 words for 8 instructions) and far below what they can do."""


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
    def multiprocessor(self) -> Multiprocessor:
        """What was measured of the device's multiprocessors. Other architectures than Hopper are taken to be like it."""
        return HOPPER

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
