"""The text of a model's CUDA module: all its kernels, the kernel `walk`, which goes through a flat schedule of calls in one
cooperative launch, and for each kernel an entry that launches it on its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from backends.acrobat.kernels.cuda.emit import SHARED_HEADER
from backends.acrobat.kernels.fusible import MOST_ARGUMENTS
from backends.acrobat.kernels.interface import CudaCode, Emitted

BUILT_IN = ("copy_rows", "tell_rows")
"""The built-in kernels, with which every module begins (copies.cuh)."""
BUILT_INS = len(BUILT_IN)

BARRIER_BYTES = 2048
"""The memory of a barrier of all blocks, which is zero at first."""

HEADERS = (
    "device.cuh",
    "few.cuh",
    "mma.cuh",
    "ring.cuh",
    "exact.cuh",
    "tensor.cuh",
    "tiled.cuh",
    "dots.cuh",
    "rowwise.cuh",
    "copies.cuh",
)
"""The headers that a module's text includes. They lie beside this file."""

STEP = f"""
// One call of a kernel, within a schedule. `args` is the device's address of the kernel's arguments, of which there are `words`
// (of 8 bytes), `barrier` whether all blocks wait for each other after it, `first` the block that takes its first tile.
struct Step {{
    int32_t kernel, barrier, first, tiles;
    int64_t args, words;
}};
static_assert(4 * kCounters * kCounterStride == {BARRIER_BYTES});

// What the walker keeps in shared memory: the arguments of this step and the next, in turns, and three steps, likewise.
constexpr int kArgumentsBytes = {8 * MOST_ARGUMENTS};
constexpr int kStepsAt = 2 * kArgumentsBytes;
static_assert(kStepsAt + 3 * int(sizeof(Step)) <= {SHARED_HEADER});
"""


def names(codes: Iterable[Emitted[CudaCode]]) -> list[str]:
    """The kernels in the order of their numbers, the built-in ones first."""
    return [*BUILT_IN, *(e.symbol for e in codes)]


def kernel_index(i: int) -> int:
    """The number by which a Step names kernel `i` of those that `module_text` was given."""
    return BUILT_INS + i


def walk_shared(codes: Iterable[Emitted[CudaCode]]) -> int:
    """Bytes of shared memory that a launch of `walk` needs."""
    return max((e.code.shared_bytes for e in codes), default=SHARED_HEADER)


MODES = ("walk", "launches")


def module_text(codes: Sequence[Emitted[CudaCode]], modes: Sequence[str] = MODES) -> str:
    """The module as CUDA C++. Its entries are `walk(const Step* steps, int64_t count, uint32_t* bar, int64_t* clocks)` and, for
    each kernel S, the built-in ones included, `launch_S(const S_args* args, int64_t tiles)`. For an emulated device there is
    also `emulated_E(blocks, threads, shared, parameters)` for each entry E, which runs E with parameters as the driver takes
    them. `modes` says which of the two ways of running kernels gets entries, since each takes its time to compile."""
    kernels = names(codes)
    entries: list[tuple[str, tuple[str, ...], bool]] = []
    if "walk" in modes:
        entries.append(("walk", ("const Step*", "int64_t", "uint32_t*", "int64_t*"), True))
    if "launches" in modes:
        entries += [(f"launch_{name}", (f"const {name}_args*", "int64_t"), False) for name in kernels]
    parts = [
        *(f'#include "{header}"' for header in HEADERS),
        "",
        *(e.code.text + "\n" for e in codes),
        *([STEP, _walk(kernels)] if "walk" in modes else []),
        *([_launch_built_in(name) for name in BUILT_IN] if "launches" in modes else []),
        *([_launch(e.symbol) for e in codes] if "launches" in modes else []),
        "#ifdef ACROBAT_EMULATE",
        *(emulated_entry(*entry) for entry in entries),
        "#endif",
        "",
    ]
    return "\n".join(parts)


def _walk(kernels: Sequence[str]) -> str:
    """The kernel `walk`. While a step runs, the arguments of the next and the step two ahead are fetched to shared memory.
    After the last of its tiles a block arrives at the step's barrier, goes on to the next step, and waits in its first tile
    there, as late as the kernel allows.
    `clocks` is null, or gets the first block's clock before the first step and after each (cycles).
    Kernels are inlined: if the walker called them, each would save the registers that a caller may use, up to 200 bytes of
    every thread and step, though the walker keeps hardly any."""
    cases = []
    for i, name in enumerate(kernels):
        cases += [
            f"            static_assert(sizeof({name}_args) <= kArgumentsBytes);",
            f"            case {i}: {name}_tiles(arguments, first, tiles, barrier); break;",
        ]
    return "\n".join(
        [
            "ACROBAT_KERNEL void __launch_bounds__(kThreads, 1)",
            "walk(const Step* steps, int64_t count, uint32_t* bar, int64_t* clocks) {",
            "    char* const header = shared_memory();",
            "    const int thread = threadIdx.x, last = int(count) - 1;",
            "    const auto step_of = [&](int i) { return reinterpret_cast<Step*>(header + kStepsAt) + i % 3; };",
            "    const auto fetch = [&](void* to, const void* from, int words) {",
            "        if (thread >= words) return;",
            "        copy4(static_cast<int32_t*>(to) + thread, static_cast<const int32_t*>(from) + thread);",
            "    };",
            "    const auto fetch_step = [&](int i) { fetch(step_of(i), steps + i, i <= last ? sizeof(Step) / 4 : 0); };",
            "    const auto fetch_arguments = [&](int i) {",
            "        if (i > last) return;",
            "        const void* const from = reinterpret_cast<const void*>(step_of(i)->args);",
            "        fetch(header + i % 2 * kArgumentsBytes, from, 2 * int(step_of(i)->words));",
            "    };",
            "    const auto fetched = [&] { copies_commit(), copies_wait<0>(), block_sync(); };",
            "    Barrier barrier(bar);",
            "    fetch_step(0), fetch_step(1), fetched();",
            "    fetch_arguments(0), fetched();",
            "    if (clocks && blockIdx.x == 0 && thread == 0) clocks[0] = clock_cycles();",
            "    for (int i = 0; i <= last; ++i) {",
            "        fetch_step(i + 2), fetch_arguments(i + 1), copies_commit();",
            "        const int arguments = i % 2 * kArgumentsBytes, first = step_of(i)->first, tiles = step_of(i)->tiles;",
            "        switch (step_of(i)->kernel) {",
            *cases,
            "        }",
            "        copies_wait<0>();",
            "        if (step_of(i)->barrier) barrier.arrive();",
            "        else block_sync();",
            "        if (clocks && blockIdx.x == 0 && thread == 0) clocks[i + 1] = clock_cycles();",
            "    }",
            "}",
            "",
        ]
    )


def _launch(name: str) -> str:
    """An entry that runs one kernel on its own. It puts the arguments in shared memory, where a kernel finds them in a walk."""
    return "\n".join(
        [
            "ACROBAT_KERNEL void __launch_bounds__(kThreads, 1)",
            f"launch_{name}(const {name}_args* args, int64_t tiles) {{",
            "    int64_t* const arguments = reinterpret_cast<int64_t*>(shared_memory());",
            f"    if (threadIdx.x < sizeof({name}_args) / 8)",
            "        arguments[threadIdx.x] = reinterpret_cast<const int64_t*>(args)[threadIdx.x];",
            "    block_sync();",
            "    Barrier none;",
            f"    {name}_tiles(0, 0, int(tiles), none);",
            "}",
            "",
        ]
    )


def _launch_built_in(name: str) -> str:
    """An entry for a built-in kernel, which needs no shared memory."""
    return "\n".join(
        [
            "ACROBAT_KERNEL void __launch_bounds__(kThreads, 1)",
            f"launch_{name}(const {name}_args* args, int64_t tiles) {{",
            f"    const {name}_args a = *args;",
            f"    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {name}_tile(a, tile, threadIdx.x);",
            "}",
            "",
        ]
    )


def emulated_entry(kernel: str, types: Sequence[str], cooperative: bool) -> str:
    """The function by which an emulated device runs a kernel with parameters of these types."""
    args = ", ".join(f"*static_cast<{t} const*>(parameters[{i}])" for i, t in enumerate(types))
    return "\n".join(
        [
            'extern "C" __attribute__((visibility("default")))',
            f"void emulated_{kernel}(int blocks, int threads, size_t shared, void** parameters) {{",
            f"    emulate::launch(blocks, threads, shared, {str(cooperative).lower()}, [=] {{ {kernel}({args}); }});",
            "}",
        ]
    )
