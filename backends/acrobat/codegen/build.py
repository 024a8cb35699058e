"""The cache of builds: one folder for each key. A key is a hash of everything that its build depends on.

A build is made in a scratch folder, under a lock, and the folder is renamed to its key when the build is complete. So a killed
build is never taken for a finished one, and two processes that want the same key build it once. A finished build keeps the
hashes of its files; where they no longer agree, the build is made anew.
"""

from __future__ import annotations

import atexit
import errno
import hashlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from filelock import FileLock

from backends.acrobat.core.folders import cache_folder
from backends.acrobat.core.toolchain import BuildError, compiler, compiler_version

RUNTIME = Path(__file__).parent.parent / "runtime"
FLAGS = ("-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", "-Wno-unused-function", "-Wno-unused-variable")
FOR_LONG = ((150_000, "-O1"), (100_000, "-fno-gcse"))
"""Flags for host code of more characters than this, the first that fits. The time that GCC takes for a function grows faster
than its length. Its last elimination of common subexpressions took a third of all for two layers of experts, where it made no
mini-batch faster, and neither did `-O2`, which takes twice the time of `-O1`. Shorter code may gain some percent by either."""
INCLUDES = ("cmath", "tuple", "model.h", "cpu/executor.h", "cuda/plan.h", "vm/interpreter.h")
"""The headers of the runtime (and of C++) that generated code may include."""
HEADER, LIBRARY = "model.hpp", "runtime.obj"
"""Files of a build of the runtime: the header that includes all of `INCLUDES`, with its precompiled form, and the object."""
COMPLETE = "complete"
UNUSABLE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.ENOTDIR, errno.EEXIST)
"""Errors of a cache folder that cannot be written or, the last two, of a path that is no folder."""


def cached(key: str, make: Callable[[Path], None], folder: Path | None = None) -> Path:
    """The folder of the build `key` in the cache `folder` (by default the user's); a missing or damaged one is made by `make`.
    Where the cache cannot be written, a temporary folder is used, with a warning; BuildError if it cannot hold the build."""
    folder = cache_folder() if folder is None else folder
    build = folder / key
    if intact(build):
        return build
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / f"{key}.lock"):
            if intact(build):
                return build
            for stale in (build, *folder.glob(f"{key}.building-*")):
                shutil.rmtree(stale, ignore_errors=True)
            scratch = Path(tempfile.mkdtemp(prefix=f"{key}.building-", dir=folder))
            try:
                make(scratch)
                (scratch / COMPLETE).write_text(json.dumps(digests(scratch)))
                scratch.rename(build)
            except BaseException:
                shutil.rmtree(scratch, ignore_errors=True)
                raise
            return build
    except OSError as error:
        if error.errno not in UNUSABLE:
            raise
        warnings.warn(
            f"the cache folder {folder} cannot be used ({error.strerror}): building in a temporary folder", stacklevel=2
        )
    scratch = Path(tempfile.mkdtemp(prefix="acrobat-"))
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    try:
        make(scratch)
    except OSError as error:
        raise BuildError(f"neither {folder} nor {scratch} can hold the build: {error.strerror}") from error
    return scratch


def newest(prefix: str, folder: Path | None = None) -> Path | None:
    """The folder of the build that was finished last among those whose keys begin with `prefix`; None if there is none."""
    folder = cache_folder() if folder is None else folder
    builds = [path for path in folder.glob(f"{prefix}*") if intact(path)]
    return max(builds, key=lambda path: (path / COMPLETE).stat().st_mtime_ns, default=None)


def digests(folder: Path) -> dict[str, str]:
    """The SHA-256 of each file of a build, by file name, but for kernels' objects (`.o`): the shared object contains them."""
    files = sorted(p for p in folder.iterdir() if p.is_file() and p.suffix != ".o" and p.name != COMPLETE)
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def intact(folder: Path) -> bool:
    """Whether the folder holds a finished build whose files have the hashes that they had when it was finished."""
    try:
        hashes: object = json.loads((folder / COMPLETE).read_text())
        return hashes == digests(folder)
    except (OSError, ValueError):
        return False


def compile_model(source: Path, objects: Sequence[Path], target: Path, flags: Sequence[str] = ()) -> None:
    """Compiles the generated source and links it with the kernels' objects and the runtime into the shared object `target`.
    `flags` are added to those of every build. Raises BuildError with the compiler's output."""
    runtime = runtime_build(compiler(), tuple(flags))
    inputs = [source, *objects, runtime / LIBRARY]
    headers = [f"-I{RUNTIME}", "-include", str(runtime / HEADER)]
    size = source.stat().st_size
    flags = (*[flag for length, flag in FOR_LONG if size > length][:1], *flags)
    run_compiler(compiler(), [*FLAGS, "-shared", *flags, *headers, "-o", str(target), *map(str, inputs), "-lpthread"], source)


@cache
def runtime_build(command: str, flags: tuple[str, ...] = ()) -> Path:
    """The folder with the runtime's object file and precompiled header for this compiler and these flags. Both are the same for
    all models, so they are made once on each machine, and always in the user's cache folder, whichever folder a model is built
    in. Raises BuildError if Python's headers are missing or the compiler fails."""
    include = sysconfig.get_path("include")
    if not Path(include, "Python.h").exists():
        raise BuildError(f"Python's headers are missing ({include} has no Python.h); install the python3-dev package")
    paths = [p.relative_to(RUNTIME) for p in sorted(RUNTIME.rglob("*")) if p.suffix in (".h", ".cpp")]
    sources = {str(p): (RUNTIME / p).read_text() for p in paths if not {"tests", "pytorch"} & {*p.parts}}  # see `slices.py`
    key = hashlib.sha256(repr((sources, FLAGS, flags, include, sys.version, compiler_version(command))).encode()).hexdigest()[
        :32
    ]

    def make(folder: Path) -> None:
        # All sources are one translation unit, because they include the same headers.
        text, header = folder / "runtime.cpp", folder / HEADER
        text.write_text("".join(f'#include "{name}"\n' for name in sources if name.endswith(".cpp")))
        run_compiler(
            command, [*FLAGS, *flags, f"-I{RUNTIME}", f"-I{include}", "-c", "-o", str(folder / LIBRARY), str(text)], text
        )
        header.write_text("".join(f'#include "{name}"\n' for name in INCLUDES))
        # Where precompiling fails, nothing is lost but time: the compiler then reads the header itself for each model.
        precompile = [command, *FLAGS, *flags, f"-I{RUNTIME}", "-x", "c++-header", str(header), "-o", f"{header}.gch"]
        subprocess.run(precompile, capture_output=True)

    return cached(f"runtime-{key}", make)


def run_compiler(command: str, arguments: Sequence[str], source: Path) -> None:
    """Runs the C++ compiler. Raises BuildError with its output; OSError (ENOSPC) if the disk is full."""
    result = subprocess.run([command, *arguments], capture_output=True, text=True)
    if result.returncode != 0:
        if "No space left" in result.stderr:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        raise BuildError(f"the C++ compiler failed on {source}:\n{result.stderr[-4000:]}")
