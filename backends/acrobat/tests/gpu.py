"""Are all workloads right on this machine's GPU: `python -m backends.acrobat.tests.gpu [workload ...]`, without pytest.

Each workload is compiled at size tiny in each of its settings, in checked mode, and compared with eager float64 on drawn
instances and edges, twice; then, without checks, at size small on a mini-batch of 64. A line is printed for each; what was
found right is noted in `--notes` and not looked at again, so that a run that was cut goes on. Exit code 1 if something
was wrong.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import torch

from backends.acrobat import compile, versions
from backends.acrobat.options import Options
from backends.acrobat.tests.support import NAMES, PAPER, assert_same, draw, eager, edges, tiny
from workloads.spec import loaded
from workloads.structures import map_tensors
from workloads.tests.conftest import spec

SETTINGS: dict[str, dict[str, Any]] = {
    "walk": {},
    "launches": {"launch": "launches"},
    "copied": {"gather_fusion": False},
    "dataflow": {"executor": "dataflow"},
    "interpreted": {"codegen": "vm"},
}
BATCH = 64


def on_host(value: Any) -> Any:
    return map_tensors(lambda t: t.cpu(), value)


def check_tiny(name: str, options: Options) -> str:
    model = tiny(name, torch.float64)
    executable = compile(tiny(name), device="cuda", checked=True, options=options)
    for instances in (draw(name, 6), edges(name)):
        want = eager(model, instances)
        for _ in range(2):
            assert_same(on_host(executable(instances)), want)
    on_device = [map_tensors(lambda t: t.to(executable.device), i) for i in draw(name, 3)]
    assert_same(on_host(executable(on_device)), eager(model, draw(name, 3)))
    executable.close()
    return "equal to eager float64"


def check_small(name: str, options: Options) -> str:
    """Wrong addresses and races show in large launches only."""
    workload = spec(name)
    instances = workload.instances("small", 0, BATCH)
    executable = compile(loaded(workload, "small", 0), device="cuda", options=options)
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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", help="by default the paper's, then the others")
    parser.add_argument("--settings", nargs="*", choices=list(SETTINGS), default=list(SETTINGS))
    parser.add_argument("--tiny", action="store_true", help="leave size small out")
    parser.add_argument("--notes", type=Path, help="a file that keeps what was found right")
    arguments = parser.parse_args()
    names = arguments.workloads or [*PAPER, *(name for name in NAMES if name not in PAPER)]
    if unknown := set(names) - set(NAMES):
        parser.error(f"there is no workload {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    known = set(arguments.notes.read_text().splitlines()) if arguments.notes and arguments.notes.exists() else set()
    wrong = 0
    for size, check in (("tiny", check_tiny), ("small", check_small)):
        if size == "small" and arguments.tiny:
            continue
        for name in names:
            for setting in (
                arguments.settings if size == "tiny" else [s for s in ("walk", "launches") if s in arguments.settings]
            ):
                note = f"{versions.source_hash()} {size} {name} {setting}"
                if note in known:
                    continue
                start = time.perf_counter()
                try:
                    said = check(name, Options(**SETTINGS[setting]))
                except Exception:
                    wrong += 1
                    said = f"WRONG\n{traceback.format_exc()}"
                else:
                    if arguments.notes:
                        with arguments.notes.open("a") as file:
                            file.write(f"{note}\n")
                print(f"{name} {setting} {size}: {said} ({time.perf_counter() - start:.1f} s)", flush=True)
    print(f"{wrong} wrong" if wrong else "all right", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
