"""Measures the peak of the processor just before the cells: float32 operations per second of fused multiply-adds on vectors of
the greatest width, which stay in registers. It is the ceiling of the roofline that kernels are compared with.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter
from typing import Any

from bench.cache import folders
from bench.files import put

SOURCE = Path(__file__).with_name("peak.c")
FLAGS = ("-O3", "-march=native", "-ffp-contract=fast", "-shared", "-fPIC")
PIECE_S = 0.01
PIECES = 15


def measure(threads: int) -> dict[str, Any] | None:
    """`gflops`, the most that all threads together reached in one of some short pieces, `threads`, and where the `accumulators`
    were: an earlier probe had them in memory, reached 0.4 of the peak, and left this entry out. None if the probe cannot be
    built or loaded, for instance without a C compiler."""
    try:
        probe = _probe()
    except (OSError, subprocess.SubprocessError):
        return None
    rounds = _rounds(probe)
    with ThreadPoolExecutor(threads) as pool:
        samples = []
        for _ in range(PIECES):
            samples.append(sum(pool.map(lambda _: _speed(probe, rounds), range(threads))))
    return {"gflops": round(max(samples) / 1e9, 2), "threads": threads, "accumulators": "registers"}


def _speed(probe: Any, rounds: int) -> float:
    """Operations per second of one call. ctypes releases Python's lock meanwhile, so several threads run side by side."""
    sink = (ctypes.c_float * 3)(0.5, 0.25, 0.0)
    start = perf_counter()
    operations = float(probe(rounds, sink))
    return operations / (perf_counter() - start)


def _rounds(probe: Any) -> int:
    """How many rounds take about `PIECE_S`."""
    rounds = 1000
    while True:
        start = perf_counter()
        probe(rounds, (ctypes.c_float * 3)(0.5, 0.25, 0.0))
        took = perf_counter() - start
        if took > PIECE_S / 4:
            return max(1, int(rounds * PIECE_S / took))
        rounds *= 4


def _probe() -> Any:
    """The probe's function, built for this processor once and kept in the cache."""
    compiler = shutil.which(os.environ.get("CC", "gcc")) or shutil.which("cc") or shutil.which("g++")
    if compiler is None:
        raise FileNotFoundError("there is no C compiler")
    version = subprocess.run([compiler, "--version"], capture_output=True, check=True, timeout=20).stdout
    key = hashlib.sha256(b"\0".join([SOURCE.read_bytes(), version, " ".join(FLAGS).encode(), _processor()])).hexdigest()[:16]
    path = next(filter(None, (_whole_probe(folder, key) for folder in folders())), None) or _build(compiler, key)
    probe = ctypes.CDLL(str(path)).probe
    probe.restype, probe.argtypes = ctypes.c_double, [ctypes.c_long, ctypes.POINTER(ctypes.c_float)]
    return probe


def _whole_probe(folder: Path, key: str) -> Path | None:
    """The probe that the folder has, if it is whole: loading a damaged one would end this process. Its name has its hash."""
    for path in sorted(folder.glob(f"peak-{key}-*.so")):
        with contextlib.suppress(OSError):
            if path.stem.endswith(_digest(path.read_bytes())):
                return path
            path.unlink()
    return None


def _build(compiler: str, key: str) -> Path:
    """Compile the probe into the first of the cache folders that can be written to. Raises OSError where none can."""
    with tempfile.TemporaryDirectory() as scratch:
        built = Path(scratch) / "peak.so"
        subprocess.run([compiler, "-x", "c", *FLAGS, "-o", built, SOURCE], capture_output=True, check=True, timeout=60)
        content = built.read_bytes()
    for folder in folders():
        with contextlib.suppress(OSError):
            return put(folder / f"peak-{key}-{_digest(content)}.so", content)
    raise OSError("no cache folder can be written to")


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _processor() -> bytes:
    """The lines of /proc/cpuinfo that `-march=native` depends on."""
    try:
        lines = Path("/proc/cpuinfo").read_bytes().splitlines()
    except OSError:
        return b""
    return b"\n".join(line for line in lines if line.startswith((b"model name", b"flags")))[:8192]
