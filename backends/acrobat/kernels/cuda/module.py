"""The one translation unit of a model's kernels: all of them, the kernel that walks a flat schedule of their calls in one
cooperative launch, and for each a kernel that is launched on its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from backends.acrobat.kernels.cuda.emit import MOST_ARGUMENTS, SHARED_HEADER
from backends.acrobat.kernels.interface import CudaCode, Emitted

BUILT_IN = ("copy_rows", "flag")
"""The kernels that every module begins with."""
BUILT_INS = len(BUILT_IN)

HEADERS = ("device.cuh", "few.cuh", "tiled.cuh", "dots.cuh", "rowwise.cuh", "copies.cuh")
"""What the text includes, beside this module's file."""

STEP = """
// One call of a kernel, within a schedule. `args` is the device's address of the kernel's arguments, `barrier` whether all
// blocks wait for each other after it, `first` the block that takes its first tile.
struct Step {
    int32_t kernel, barrier, first, tiles;
    int64_t args;
};
"""


def names(codes: Iterable[Emitted[CudaCode]]) -> list[str]:
    """The kernels in the order of their numbers, the built-in ones first."""
    return [*BUILT_IN, *(e.symbol for e in codes)]


def kernel_index(i: int) -> int:
    """The number in a Step of kernel `i` of those that `module_text` was given."""
    return BUILT_INS + i


def walk_shared(codes: Iterable[Emitted[CudaCode]]) -> int:
    """Bytes of shared memory that a launch of `walk` needs."""
    return SHARED_HEADER + max((e.code.shared_bytes for e in codes), default=0)


MODES = ("walk", "launches")


def module_text(codes: Sequence[Emitted[CudaCode]], modes: Sequence[str] = MODES) -> str:
    """The text. Its entries are `walk(const Step* steps, int64_t count, uint32_t* bar)` and, for each kernel S, the built-in
    ones among them, `launch_S(const S_args* args, int64_t tiles)`; for an emulated device `emulated_E(blocks, threads, shared,
    parameters)` for each entry E, which runs it with parameters as the driver takes them. `modes` says which of the two ways
    to run kernels there are entries for: each takes its time to compile."""
    kernels = names(codes)
    entries: list[tuple[str, tuple[str, ...], bool]] = []
    if "walk" in modes:
        entries.append(("walk", ("const Step*", "int64_t", "uint32_t*"), True))
    if "launches" in modes:
        entries += [(f"launch_{name}", (f"const {name}_args*", "int64_t"), False) for name in kernels]
    parts = [
        *(f'#include "{header}"' for header in HEADERS),
        "",
        *(e.code.text + "\n" for e in codes),
        *([STEP, _walk(kernels)] if "walk" in modes else []),
        *([_launch(name) for name in kernels] if "launches" in modes else []),
        "#ifdef ACROBAT_EMULATE",
        *(_emulated(*entry) for entry in entries),
        "#endif",
        "",
    ]
    return "\n".join(parts)


def _walk(kernels: Sequence[str]) -> str:
    """A step's arguments are fetched to shared memory while the step before it runs, and steps two ahead, so that a step begins
    with its tables. A kernel whose blocks have memory of their own has so many blocks at most (`S_blocks`)."""
    words = [
        f"        case {i}: static_assert(sizeof({name}_args) <= {8 * MOST_ARGUMENTS}); return sizeof({name}_args) / 8;"
        for i, name in enumerate(kernels)
    ]
    cases = []
    for i, name in enumerate(kernels):
        cases += [
            f"            case {i}: {{",
            f"                const {name}_args& a = *reinterpret_cast<const {name}_args*>(args);",
            f"                const int blocks = smaller(gridDim.x, {name}_blocks), block = blockIdx.x;",
            "                if (block >= blocks) break;",
            "                const int begin = (block + blocks - step.first % blocks) % blocks;",
            "                for (int tile = begin; tile < step.tiles; tile += blocks) {",
            f"                    {name}_tile(a, tile, shared);",
            "                    block_sync();  // the next tile writes to shared memory",
            "                }",
            "                break;",
            "            }",
        ]
    return "\n".join(
        [
            "ACROBAT_DEVICE int argument_words(int kernel) {",
            "    switch (kernel) {",
            *words,
            "    }",
            "    return 0;",
            "}",
            "",
            "ACROBAT_KERNEL void __launch_bounds__(kThreads, 1) walk(const Step* steps, int64_t count, uint32_t* bar) {",
            "    char* const memory = shared_memory();",
            "    int64_t* const arguments = reinterpret_cast<int64_t*>(memory);  // of this step and the next, in turns",
            f"    char* const shared = memory + {SHARED_HEADER};",
            "    if (count == 0) return;",
            "    Step step = steps[0], next = steps[count > 1 ? 1 : 0];",
            "    const int thread = threadIdx.x;",
            "    if (thread < argument_words(step.kernel))",
            "        arguments[thread] = reinterpret_cast<const int64_t*>(step.args)[thread];",
            "    block_sync();",
            "    for (int64_t i = 0; i < count; ++i) {",
            "        const Step after = steps[i + 2 < count ? i + 2 : count - 1];",
            "        const bool fetches = i + 1 < count && thread < argument_words(next.kernel);",
            "        const int64_t word = fetches ? reinterpret_cast<const int64_t*>(next.args)[thread] : 0;",
            f"        const int64_t* const args = arguments + i % 2 * {MOST_ARGUMENTS};",
            "        switch (step.kernel) {",
            *cases,
            "        }",
            f"        if (fetches) arguments[(i + 1) % 2 * {MOST_ARGUMENTS} + thread] = word;",
            "        if (step.barrier) grid_sync(bar);",
            "        else block_sync();",
            "        step = next, next = after;",
            "    }",
            "}",
            "",
        ]
    )


def _launch(name: str) -> str:
    return "\n".join(
        [
            f"ACROBAT_KERNEL void __launch_bounds__(kThreads) launch_{name}(const {name}_args* args, int64_t tiles) {{",
            f"    const {name}_args a = *args;",
            f"    const int blocks = smaller(gridDim.x, {name}_blocks), block = blockIdx.x;",
            "    if (block >= blocks) return;",
            "    for (int tile = block; tile < tiles; tile += blocks) {",
            f"        {name}_tile(a, tile, shared_memory());",
            "        block_sync();",
            "    }",
            "}",
            "",
        ]
    )


def _emulated(kernel: str, types: Sequence[str], cooperative: bool) -> str:
    args = ", ".join(f"*static_cast<{t} const*>(parameters[{i}])" for i, t in enumerate(types))
    return "\n".join(
        [
            'extern "C" __attribute__((visibility("default")))',
            f"void emulated_{kernel}(int blocks, int threads, size_t shared, void** parameters) {{",
            f"    emulate::launch(blocks, threads, shared, {str(cooperative).lower()}, [=] {{ {kernel}({args}); }});",
            "}",
        ]
    )
