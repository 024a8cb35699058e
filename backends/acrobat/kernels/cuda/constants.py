"""Measures the constants of a CUDA device of which the time of a walk consists. This is a program:
`python -m backends.acrobat.kernels.cuda.constants`.

Most constants are differences of two launches that do a thing more and less often, each the fastest of several, so that the
cost of a launch drops out. All times are in microseconds, the peak is in TFLOP/s. On the emulated device the program runs too,
to see that it does; its numbers then mean nothing.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from typing import Any

from backends.acrobat.kernels.cuda.build import cubin
from backends.acrobat.kernels.cuda.module import BARRIER_BYTES, emulated_entry
from backends.acrobat.kernels.cuda.target import CudaTarget, Driver, UnsupportedCuda

THREADS = 256
FEW, MANY, TIMES = 100, 2100, 20
"""How often the two launches do what is measured, and how often each is measured."""
ON_EMULATED = 1, 3, 2
"""The same on the emulated device, which is slow."""
QUEUED = 500
"""The launches that wait behind a long kernel: fewer than the driver takes before it makes the host wait."""
PATIENCE_S = 1.0
"""How long the host looks for an answer of the device before it asks the driver what has happened."""
SUMS = 16
"""The independent sums of a thread: so many that multiply-adds do not wait for each other."""

TEXT = f"""
#include "device.cuh"
#ifdef ACROBAT_EMULATE
inline int64_t __ldcg(const int64_t* from) {{ return *from; }}
#endif
ACROBAT_KERNEL void nothing(int64_t* memory, int64_t count) {{}}
ACROBAT_KERNEL void barriers(int64_t* memory, int64_t count) {{
    Barrier barrier(reinterpret_cast<uint32_t*>(memory));
    for (int64_t i = 0; i < count; ++i) barrier.arrive(), barrier.wait();
}}
// Each load's address is what the one before brought: index i of the table holds another index.
ACROBAT_KERNEL void chase(int64_t* memory, int64_t count) {{
    int64_t at = 16;
    for (int64_t i = 0; i < count; ++i) at = __ldcg(memory + at);
    memory[1] = at;
}}
ACROBAT_KERNEL void multiply(int64_t* memory, int64_t count) {{
    float sums[{SUMS}] = {{}}, x = float(memory[2]);
    for (int64_t i = 0; i < count; ++i)
#pragma unroll
        for (int j = 0; j < {16 * SUMS}; ++j) sums[j % {SUMS}] = fmaf(sums[j % {SUMS}], x, 1.0f);
    float all = 0.0f;
    for (int j = 0; j < {SUMS}; ++j) all += sums[j];
    if (all == -1.0f) memory[1] = 1;
}}
ACROBAT_KERNEL void answer(int64_t* memory, int64_t value) {{ tell_host(memory, value); }}
"""

ENTRIES = ("nothing", "barriers", "chase", "multiply", "answer")


def module_text(target: CudaTarget) -> str:
    """The program's kernels; for an emulated device with the entries by which it runs them."""
    entries = [emulated_entry(name, ("int64_t*", "int64_t"), name == "barriers") for name in ENTRIES]
    return "\n".join([TEXT, *(entries if target.emulated else [])])


class LoadedDevice:
    """The device with the kernels loaded, in the primary context. Raises UnsupportedCuda."""

    def __init__(self, target: CudaTarget) -> None:
        self.driver = Driver()
        self.few, self.many, self.times = ON_EMULATED if target.emulated else (FEW, MANY, TIMES)
        self.patience_s = 0.0 if target.emulated else PATIENCE_S  # an emulated device works only while the host waits
        device, context, module = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
        self.driver("cuDeviceGet", ctypes.byref(device), 0)
        self.driver("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.driver("cuCtxPushCurrent_v2", context)
        self.driver("cuModuleLoadData", ctypes.byref(module), cubin(module_text(target), target).content)
        self.functions: dict[str, Any] = {}
        for name in ENTRIES:
            self.functions[name] = ctypes.c_void_p()
            self.driver("cuModuleGetFunction", ctypes.byref(self.functions[name]), module, name.encode())

    def launch(self, name: str, blocks: int, memory: int, value: int) -> None:
        """Launches the kernel `name` with these two arguments."""
        arguments = (ctypes.c_uint64 * 2)(memory, value)
        start = ctypes.addressof(arguments)
        parameters = (ctypes.c_void_p * 2)(start, start + 8)
        shape = (blocks, 1, 1, THREADS, 1, 1, 0, ctypes.c_void_p(), parameters)
        if name == "barriers":
            self.driver("cuLaunchCooperativeKernel", self.functions[name], *shape)
        else:
            self.driver("cuLaunchKernel", self.functions[name], *shape, ctypes.c_void_p())

    def synchronise(self) -> None:
        """Waits until the device has done everything."""
        self.driver("cuCtxSynchronize")

    def best(self, work: Callable[[], None]) -> float:
        """The microseconds that `work` takes until the device has done it, the fastest of several times."""
        seconds = []
        for _ in range(self.times):
            self.synchronise()
            begin = time.perf_counter()
            work()
            self.synchronise()
            seconds.append(time.perf_counter() - begin)
        return min(seconds) * 1e6

    def each(self, name: str, blocks: int, memory: int) -> float:
        """The microseconds for one turn of a kernel that does as many turns as its argument `value` says."""
        most = self.best(lambda: self.launch(name, blocks, memory, self.many))
        return (most - self.best(lambda: self.launch(name, blocks, memory, self.few))) / (self.many - self.few)

    def each_launch(self, blocks: int, memory: int) -> float:
        """The microseconds from one launch to the next on the device. They are requested while a long kernel runs, as Python
        takes longer to request an empty launch than the device takes to run it."""
        before, after, took = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_float()
        for event in (before, after):
            self.driver("cuEventCreate", ctypes.byref(event), 0)
        stream = ctypes.c_void_p()
        milliseconds = []
        for _ in range(self.times):
            self.launch("multiply", blocks, memory, 8 * self.many)  # about 5 ms
            self.driver("cuEventRecord", before, stream)
            for _ in range(QUEUED):
                self.launch("nothing", blocks, memory, 0)
            self.driver("cuEventRecord", after, stream)
            self.synchronise()
            self.driver("cuEventElapsedTime", ctypes.byref(took), before, after)
            milliseconds.append(took.value)
        return min(milliseconds) * 1e3 / QUEUED

    def round_trip(self, mapped: int, told: Any) -> float:
        """The microseconds from the request of a launch to its answer in the host's memory, which Python looks for: at address
        `mapped` for the device, `told[0]` for the host. Raises UnsupportedCuda if there is no answer."""
        trips = []
        for value in range(1, 10 * self.times):
            begin = time.perf_counter()
            self.launch("answer", 1, mapped, value)
            while told[0] != value:
                if time.perf_counter() - begin > self.patience_s:
                    self.synchronise()
                    if told[0] != value:
                        raise UnsupportedCuda("the host does not see what the device has written to its memory")
            trips.append(time.perf_counter() - begin)
        return min(trips) * 1e6


def measure(target: CudaTarget) -> dict[str, float]:
    """The constants by name: microseconds, and the peak in TFLOP/s."""
    device = LoadedDevice(target)
    count = 1 << 16
    table = (ctypes.c_int64 * count)(*((i * 4099 + 17) % count for i in range(count)))
    table[0] = 0
    memory, words, host, mapped = ctypes.c_uint64(), ctypes.c_uint64(), ctypes.c_void_p(), ctypes.c_uint64()
    device.driver("cuMemAlloc_v2", ctypes.byref(words), ctypes.c_size_t(BARRIER_BYTES))
    device.driver("cuMemsetD32Async", words, 0, ctypes.c_size_t(BARRIER_BYTES // 4), ctypes.c_void_p())
    device.driver("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(ctypes.sizeof(table)))
    device.driver("cuMemcpyHtoDAsync_v2", memory, table, ctypes.c_size_t(ctypes.sizeof(table)), ctypes.c_void_p())
    device.synchronise()
    device.driver("cuMemHostAlloc", ctypes.byref(host), ctypes.c_size_t(4096), 2)  # mapped into the device's addresses
    device.driver("cuMemHostGetDevicePointer_v2", ctypes.byref(mapped), host, 0)
    told = ctypes.cast(host, ctypes.POINTER(ctypes.c_int64))
    told[0] = 0
    multiply = device.each("multiply", 4 * target.sms, memory.value)
    return {
        "barrier": device.each("barriers", target.sms, words.value),
        "launch": device.each_launch(target.sms, memory.value),
        "round trip": device.round_trip(mapped.value, told),
        "dependent load": device.each("chase", 1, memory.value),
        "fp32 peak": 2 * 16 * SUMS * THREADS * 4 * target.sms / multiply / 1e6,
    }


def main() -> None:
    """Prints the constants of this machine's first device."""
    target = CudaTarget.detect()
    print(target)
    for name, value in measure(target).items():
        print(f"{name}: {value:.3f}")


if __name__ == "__main__":
    main()
