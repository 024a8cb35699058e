"""The sanitizers of g++: with which flags code is built for each, and in which environment it runs.

Python and PyTorch are not built with a sanitizer, so its library is loaded before them. What they do needs no suppressions:
AddressSanitizer does not look for leaks, and ThreadSanitizer reports nothing about memory that only code which it does not know
has touched (`ignore_noninstrumented_modules`), while it does notice when such code starts a thread or takes a lock.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from backends.acrobat.core.toolchain import BuildError, compiler
from backends.acrobat.core.units import Kernel, Mode
from backends.acrobat.kernels.cpu.schedule import KernelSchedule
from backends.acrobat.kernels.cpu.target import CpuTarget
from backends.acrobat.kernels.interface import CpuCode, Emitted, Schedules, Variant, flops
from backends.acrobat.kernels.packing import PLAIN
from backends.acrobat.kernels.tests import reference
from backends.acrobat.options import Kernels
from backends.acrobat.settings import Emit

ROOT = Path(__file__).resolve().parents[3]
FOUND = 99
"""The exit code of a process in which a sanitizer found an error."""


@dataclass(frozen=True)
class Sanitizer:
    """`flags`: of the compiler. `libraries`: what they link, the one to load before Python first. `options`: variables of the
    environment that a sanitized program reads."""

    flags: tuple[str, ...]
    libraries: tuple[str, ...]
    options: Mapping[str, str]

    def unavailable(self) -> str | None:
        """Why this machine cannot build sanitized code, or None if it can."""
        try:
            name = compiler()
        except BuildError as error:
            return str(error)
        if "clang" in Path(name).name:
            return f"{name} is not g++, whose sanitizers these are; name one in CXX"
        for library in (*self.libraries, "libstdc++.so"):
            if not library_path(library).is_absolute():
                packages = " and ".join(each.removesuffix(".so") for each in self.libraries)
                return f"{name} has no {library}; install the sanitizers of this compiler ({packages})"
        return None

    def environment(self) -> dict[str, str]:
        """The environment of a sanitized program."""
        return {**os.environ, **self.options}

    def python_environment(self) -> dict[str, str]:
        """The environment of a Python process that loads sanitized code. The sanitizer is loaded before Python, and so is the
        C++ library, whose exceptions it intercepts."""
        return {
            **self.environment(),
            "LD_PRELOAD": ":".join(str(library_path(name)) for name in (self.libraries[0], "libstdc++.so")),
            "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),
        }


COMMON = ("-fno-omit-frame-pointer", "-g", "-O1")
ADDRESS = Sanitizer(
    flags=("-fsanitize=address,undefined", "-fno-sanitize-recover=all", *COMMON),
    libraries=("libasan.so", "libubsan.so"),
    options={
        "ASAN_OPTIONS": f"detect_leaks=0:exitcode={FOUND}:allocator_may_return_null=1:quarantine_size_mb=16",
        "UBSAN_OPTIONS": f"print_stacktrace=1:exitcode={FOUND}",
    },
)
"""AddressSanitizer and UndefinedBehaviorSanitizer."""
THREAD = Sanitizer(
    flags=("-fsanitize=thread", *COMMON),
    libraries=("libtsan.so",),
    options={"TSAN_OPTIONS": f"exitcode={FOUND}:halt_on_error=1:ignore_noninstrumented_modules=1"},
)
"""ThreadSanitizer. It finds two accesses to one place by two threads that nothing orders, whether or not they meet in a run."""


@cache
def library_path(name: str) -> Path:
    """The compiler's library of this name; a relative path if it has none."""
    return Path(subprocess.run([compiler(), f"-print-file-name={name}"], capture_output=True, text=True).stdout.strip())


def emit_reference(sanitizer: Sanitizer) -> Emit:
    """An emitter that writes kernels as plain C++ and compiles them with the sanitizer. They have no schedules.
    A build's key has the name of this module, so it is none that is run as `__main__`."""

    def emit(
        kernel: Kernel, out_mode: Mode, target: CpuTarget, schedules: Schedules = (), kernels: Kernels = "generated"
    ) -> tuple[Variant, ...]:
        with tempfile.TemporaryDirectory(prefix="acrobat-reference-") as folder:
            source, compiled = Path(folder, "kernel.cpp"), Path(folder, "kernel.o")
            source.write_text(
                f"#include <cmath>\n#include <cstdint>\n#include <cstring>\n{reference.source(kernel, out_mode)}\n"
            )
            command = [compiler(), "-std=c++20", "-fPIC", *sanitizer.flags, "-c", "-o", str(compiled), str(source)]
            subprocess.run(command, check=True)
            code = compiled.read_bytes()
        return (plain_variant(kernel, out_mode, target, code),)

    return emit


def plain_variant(kernel: Kernel, out_mode: Mode, target: CpuTarget, code: bytes) -> Variant[CpuCode]:
    """A kernel written as plain C++ (`kernels/tests/reference.py`), with its object file, which is empty where the text is
    compiled elsewhere."""
    name = reference.symbol(kernel, out_mode)
    emitted = Emitted(
        symbol=name,
        kernel=name,
        schedule=KernelSchedule.default(kernel, target),
        packs={p.name: PLAIN for p in kernel.params if p.mode is Mode.SHARED},
        flops_per_row=flops(kernel),
        code=CpuCode(code, 1, reference.scratch_size(kernel), reference.declaration(kernel, out_mode)),
    )
    return Variant(0, emitted)
