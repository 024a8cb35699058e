"""The command behind `scripts/random-programs`: many random programs through the whole compiler, findings written to a folder.

Programs are checked in batches, each in a process of its own, so that one that crashes or never ends is a finding too.
"""

from __future__ import annotations

import argparse
import faulthandler
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from backends.acrobat.codegen.build import runtime_build
from backends.acrobat.core.toolchain import compiler
from backends.acrobat.tests.random_cases import AXES, Case, case_of
from backends.acrobat.tests.random_checks import FAST, Finding, check_cases
from backends.acrobat.tests.smaller_programs import smaller

BATCH = 25
DEADLINE_S = 240
"""For a program alone; a batch has this for its first and `MORE_S` for each further one."""
MORE_S = 20
FORK = multiprocessing.get_context("fork")


@dataclass(slots=True)
class _Child:
    process: BaseProcess
    results: Connection
    cases: Sequence[Case]
    limit_s: int
    until: float
    folder: Path


def start(cases: Sequence[Case], flags: Sequence[str]) -> _Child:
    folder = Path(tempfile.mkdtemp(prefix="acrobat-random-"))
    receive, send = FORK.Pipe(duplex=False)
    process = FORK.Process(target=_check, args=(cases, folder, flags, send))
    process.start()
    send.close()
    limit = DEADLINE_S + MORE_S * (len(cases) - 1)
    return _Child(process, receive, cases, limit, time.monotonic() + limit, folder)


def _check(cases: Sequence[Case], folder: Path, flags: Sequence[str], send: Connection) -> None:
    os.setpgid(0, 0)  # the C++ compiler goes with it when it is ended
    faulthandler.enable(2)
    send.send([(f.case.seed, f.stage, f.message) for f in check_cases(cases, folder / "build", flags)])


def finish(child: _Child) -> list[Finding] | str:
    """The findings of a batch whose process has ended or is out of time, or what became of the process."""
    try:
        if not child.results.poll():
            return f"no end within {child.limit_s} s"
        by_seed = {case.seed: case for case in child.cases}
        return [Finding(by_seed[seed], stage, message) for seed, stage, message in child.results.recv()]
    except EOFError:
        child.process.join()
        code = child.process.exitcode or 0
        return f"died of {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"
    finally:
        if child.process.is_alive() and child.process.pid is not None:
            try:
                os.killpg(child.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        child.process.join()
        child.results.close()
        shutil.rmtree(child.folder, ignore_errors=True)


def alone(case: Case, flags: Sequence[str]) -> Finding | None:
    child = start([case], flags)
    wait([child.results], timeout=DEADLINE_S)
    found = finish(child)
    if isinstance(found, str):
        return Finding(case, "process", found)
    return found[0] if found else None


def search(cases: Iterator[Case], jobs: int, flags: Sequence[str]) -> Iterator[tuple[int, list[Finding]]]:
    """For each batch, how many programs it had and what was found. `jobs` batches run at once."""
    running: list[_Child] = []
    while True:
        while len(running) < jobs and (batch := [case for _, case in zip(range(BATCH), cases, strict=False)]):
            running.append(start(batch, flags))
        if not running:
            return
        left = max(0.0, min(c.until for c in running) - time.monotonic())
        done = wait([c.results for c in running], timeout=left)
        for child in [c for c in running if c.results in done or time.monotonic() > c.until]:
            running.remove(child)
            found = finish(child)
            if isinstance(found, str):
                found = [f for case in child.cases if (f := alone(case, flags))]
            yield len(child.cases), found


def shrunk(finding: Finding, attempts: int, flags: Sequence[str]) -> Finding:
    """The same kind of finding in a smaller program."""
    best = finding

    def fails(sample: Any) -> bool:
        nonlocal best
        other = alone(replace(finding.case, sample=sample), flags)
        if other is None or other.kind != finding.kind:
            return False
        best = other
        return True

    smaller(finding.case.sample, fails, attempts)
    return best


def write(finding: Finding, small: Finding | None, folder: Path, command: str) -> Path:
    """`small` is None where another of its kind was made small."""
    path = folder / f"seed-{finding.case.seed}.txt"
    folder.mkdir(parents=True, exist_ok=True)
    shrunk = f"==== shrunk\n\n{small}\n\n" if small else ""
    path.write_text(f"{command}\n\n{shrunk}==== as drawn\n\n{finding}\n")
    return path


def option(text: str) -> tuple[str, Any]:
    name, _, value = text.partition("=")
    if name not in AXES:
        raise argparse.ArgumentTypeError(f"there is no option {name!r}; there are {', '.join(AXES)}")
    texts = {str(v).lower(): v for v in AXES[name]}
    if value.lower() not in texts:
        raise argparse.ArgumentTypeError(f"{name} is one of {', '.join(texts)}, not {value!r}")
    return name, texts[value.lower()]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="random-programs",
        description="Compile random programs and compare what they give with the interpreter. Exit code 1: it was wrong.",
    )
    parser.add_argument("--count", type=int, default=1000, help="how many programs")
    parser.add_argument("--seed", type=int, default=0, help="of the first program; the others have the seeds after it")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes at once")
    parser.add_argument("--option", type=option, action="append", default=[], metavar="NAME=VALUE", help="fix a switch")
    parser.add_argument("--flags", default=" ".join(FAST), help="for the C++ compiler, as --flags=-O2")
    parser.add_argument("--shrink", type=int, default=150, help="attempts at a smaller program, for each kind of finding")
    parser.add_argument("--folder", type=Path, default=Path("outputs/random-programs"), help="where findings are written")
    given = parser.parse_args(arguments)
    fixed, flags = dict(given.option), given.flags.split()
    return run(given.seed, given.count, given.jobs, fixed, flags, given.shrink, given.folder)


def run(seed: int, count: int, jobs: int, fixed: Mapping[str, Any], flags: Sequence[str], shrink: int, folder: Path) -> int:
    # Children have what takes seconds to import.
    from backends.acrobat.kernels.cpu import templates  # noqa: F401

    runtime_build(compiler(), tuple(flags))
    kinds: Counter[str] = Counter()
    checked, begin = 0, time.monotonic()
    cases = (case_of(s, fixed) for s in range(seed, seed + count))
    for size, findings in search(cases, jobs, flags):
        checked += size
        for finding in findings:
            kinds[finding.kind] += 1
            small = shrunk(finding, shrink, flags) if kinds[finding.kind] == 1 else None
            more = "".join(f" --option {name}={value}" for name, value in fixed.items())
            path = write(finding, small, folder, f"scripts/random-programs --seed {finding.case.seed} --count 1{more}")
            print(f"seed {finding.case.seed}: {finding.kind} ({path})", flush=True)
        minutes = (time.monotonic() - begin) / 60
        print(f"{checked} of {count} programs, {sum(kinds.values())} findings, {minutes:.1f} min", file=sys.stderr, flush=True)
    print(f"{checked} programs, {sum(kinds.values())} findings of {len(kinds)} kinds")
    for kind, times in kinds.most_common():
        print(f"{times:5} {kind}")
    return 1 if kinds else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
