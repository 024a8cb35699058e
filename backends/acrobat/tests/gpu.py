"""Are all workloads right on this machine's GPU: `python -m backends.acrobat.tests.gpu [workload ...]`, without pytest.

Each workload is compiled at size tiny in each of its settings, in checked mode, and compared with eager float64 on drawn
instances and edges, twice; then, without checks, at size small on a mini-batch of 64. A line is printed for each; what was
found right is noted in `--notes` and not looked at again, so that a run that was cut goes on. With `--jobs` each workload has a
process of its own, so many at once; when a check ends its process or takes longer than `--limit`, as where a device never
ends, another process goes on behind it. `--trials` chooses tiles instead, by running so many on the device. Exit code 1 if
something was wrong.
"""

from __future__ import annotations

import argparse
import faulthandler
import hashlib
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from backends.acrobat import compile, versions
from backends.acrobat.options import Options
from backends.acrobat.tests.samples import PAPER, assert_same, draw, eager, edges, tiny
from workloads.spec import loaded
from workloads.structures import map_tensors
from workloads.tests.named import NAMES, spec

SETTINGS: dict[str, dict[str, Any]] = {
    "walk": {},
    "launches": {"launch": "launches"},
    "copied": {"gather_fusion": False},
    "dataflow": {"executor": "dataflow"},
    "agenda": {"executor": "agenda"},
    "learned": {"executor": "learned"},
    "waves": {"wave": 1},
    "interpreted": {"codegen": "vm"},
}
BATCH = 64
CUT = 5
"""The exit code of a process that was told to end."""
SAMPLE_SEED = 7919
"""The seed of the mini-batch whose profile says at how many rows tiles are tried."""
ROOT = Path(__file__).resolve().parents[3]


def on_host(value: Any) -> Any:
    return map_tensors(lambda t: t.cpu(), value)


def check_tiny(name: str, options: Options) -> str:
    model = tiny(name, torch.float64)
    executable = compile(tiny(name), device="cuda", checked=True, options=options, policy_trials=20)
    for instances in (draw(name, 6), edges(name)):
        want = eager(model, instances)
        for _ in range(2):
            assert_same(on_host(executable(instances)), want)
    on_device = [map_tensors(lambda t: t.to(executable.device), i) for i in draw(name, 3)]
    assert_same(on_host(executable(on_device)), eager(model, draw(name, 3)))
    executable.close()
    return "equal to eager float64"


def check_small(name: str, options: Options) -> str:
    """Checks size small as well, because wrong addresses and races show in large launches only."""
    workload = spec(name)
    instances = workload.instances("small", 0, BATCH)
    executable = compile(loaded(workload, "small", 0), device="cuda", options=options)
    with torch.device(executable.device):  # what a model makes itself lies there too, as tensors of the words of a sentence
        want = eager(
            loaded(workload, "small", 0, torch.float64).to(executable.device),
            [map_tensors(lambda t: t.to(executable.device), i) for i in instances],
        )
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        got = executable(instances)
        executable.synchronize()
        best = min(best, time.perf_counter() - start)
        assert_same(on_host(got), on_host(want))
    counters = executable.counters()
    executable.close()
    return (
        f"equal at small, {BATCH} instances: {best * 1000:.2f} ms, {counters['kernel_ms']:.2f} on the device, "
        f"{counters['steps']:.0f} steps, {counters['barriers']:.0f} barriers, {counters['uploaded_bytes'] / 1024:.0f} KiB up"
    )


def choose_tiles(name: str, size: str, trials: int) -> str:
    """Tunes the tiles of a workload. The harness compiles with the same sample, so it finds these measurements in the cache."""
    workload = spec(name)
    sample = workload.instances(size, SAMPLE_SEED, BATCH if size != "tiny" else 2)
    executable = compile(loaded(workload, size, 0), device="cuda", tune=trials, guide="profile", sample=sample)
    chosen = {symbol.rpartition("_")[0]: kernel["schedule"] for symbol, kernel in executable.manifest["kernels"].items()}
    executable.close()
    return f"{trials} schedules tried; chosen: {chosen}"


def checks(names: list[str], settings: list[str], only_tiny: bool) -> Iterator[tuple[str, str, str]]:
    """Workload, setting and size of each check, the small ones first."""
    for name in names:
        yield from ((name, setting, "tiny") for setting in settings)
    for name in names if not only_tiny else ():
        yield from ((name, setting, "small") for setting in ("walk", "launches") if setting in settings)


def sources() -> str:
    """A hash of all that may change what a run on a GPU gives."""
    digest = hashlib.sha256()
    kinds = {".py", ".h", ".cpp", ".cuh", ".yaml"}
    for folder in ("backends", "bench", "conf", "workloads"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in kinds and ("tests" not in path.parts or path == Path(__file__).resolve()):
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


class Notes:
    """What checks came to, one line for each, in a file that several processes add to; without a file nothing is kept. A check
    whose line "begun" has no "ended" has ended its process: it crashed, or took too long."""

    def __init__(self, path: Path | None) -> None:
        self.path = path

    def _lines(self) -> list[str]:
        return self.path.read_text().splitlines() if self.path and self.path.exists() else []

    def _add(self, line: str) -> None:
        if self.path:
            with self.path.open("a") as file:
                file.write(f"{line}\n")

    def is_right(self, check: str) -> bool:
        return f"right {check}" in self._lines()

    def is_unended(self, check: str) -> bool:
        lines = self._lines()
        return lines.count(f"begun {check}") > lines.count(f"ended {check}")

    def unended(self) -> list[str]:
        begun = {line.removeprefix("begun ") for line in self._lines() if line.startswith("begun ")}
        return [check for check in begun if self.is_unended(check)]

    @contextmanager
    def noted(self, check: str) -> Iterator[None]:
        """Notes a check as right if nothing is raised within."""
        self._add(f"begun {check}")
        try:
            yield
            self._add(f"right {check}")
        finally:
            self._add(f"ended {check}")


def apart(names: list[str], jobs: int, notes: Notes, arguments: list[str]) -> int:
    """Checks each workload in processes of its own, so that one that loses the device's context does not stop the others. While
    a process is ended by one of its checks, the next one goes on behind that."""

    def run(name: str) -> int:
        command = [sys.executable, "-m", "backends.acrobat.tests.gpu", *arguments, "--", name]
        while True:
            before = set(notes.unended())
            code = subprocess.run(command, check=False).returncode
            if not any(f" {name} " in check for check in set(notes.unended()) - before) or code == CUT:
                return code

    with ThreadPoolExecutor(jobs) as pool:
        return max(pool.map(run, names), key=abs)


def check_all(names: list[str], settings: list[str], only_tiny: bool, notes: Notes, limit_s: int) -> int:
    """How many checks were wrong."""
    wrong = 0
    for name, setting, size in checks(names, settings, only_tiny):
        check = f"{versions.source_hash()} {size} {name} {setting}"
        if notes.is_right(check):
            continue
        start = time.perf_counter()
        if notes.is_unended(check):
            wrong += 1
            said = f"WRONG: it ended its process or took longer than {limit_s} s, as the output before tells. Not tried again"
        else:
            faulthandler.dump_traceback_later(limit_s, exit=True, file=sys.__stderr__ or 2)
            try:
                with notes.noted(check):
                    said = (check_tiny if size == "tiny" else check_small)(name, Options(**SETTINGS[setting]))
            except Exception:
                wrong += 1
                said = f"WRONG\n{traceback.format_exc()}"
            finally:
                faulthandler.cancel_dump_traceback_later()
        print(f"{name} {setting} {size}: {said} ({time.perf_counter() - start:.1f} s)", flush=True)
    return wrong


def terminate(number: int, frame: FrameType | None) -> None:
    """Ends the process by an exception, so that a check that is cut counts as ended."""
    sys.exit(CUT)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", help="by default the paper's, then the others")
    parser.add_argument("--settings", nargs="*", choices=list(SETTINGS), default=list(SETTINGS))
    parser.add_argument("--tiny", action="store_true", help="leave size small out")
    parser.add_argument("--notes", type=Path, help="a file that keeps what was found right")
    parser.add_argument("--jobs", type=int, default=0, help="as many processes at once, one for each workload; 0: this one")
    parser.add_argument("--limit", type=int, default=180, help="the most seconds that one check may take")
    parser.add_argument("--trials", type=int, default=0, help="choose tiles: how many schedules are tried for each workload")
    parser.add_argument("--size", default="small", help="the size that tiles are chosen for")
    parser.add_argument("--sources", action="store_true", help="print a hash of the sources, and nothing else")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, terminate)
    if arguments.sources:
        print(sources())
        return 0
    names = arguments.workloads or [*PAPER, *(name for name in NAMES if name not in PAPER)]
    if unknown := set(names) - set(NAMES):
        parser.error(f"there is no workload {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    if arguments.jobs:
        kept = ["--notes", str(arguments.notes)] if arguments.notes else []
        asked = ["--settings", *arguments.settings, *(["--tiny"] * arguments.tiny), "--limit", str(arguments.limit), *kept]
        return apart(names, arguments.jobs, Notes(arguments.notes), asked)
    if arguments.trials:
        for name in names:
            print(f"{name} {arguments.size}: {choose_tiles(name, arguments.size, arguments.trials)}", flush=True)
        return 0
    wrong = check_all(names, arguments.settings, arguments.tiny, Notes(arguments.notes), arguments.limit)
    print(f"{wrong} wrong" if wrong else f"all right: {' '.join(names)}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
