"""The command behind `scripts/random-programs`: compiles and checks many random programs, and writes findings to a folder.

Programs are checked in batches, each batch in a process of its own, so that a crash or an endless loop is a finding too.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, get_args

from backends.acrobat.codegen.build import runtime_build
from backends.acrobat.core.toolchain import compiler
from backends.acrobat.options import Device
from backends.acrobat.runtime.cuda.tests.emulated import emulated
from backends.acrobat.tests.random_cases import AXES, Case, case_of
from backends.acrobat.tests.random_checks import FAST, REFUSED, Finding, check_cases
from backends.acrobat.tests.smaller_models import smaller as smaller_model
from backends.acrobat.tests.smaller_programs import smaller

BATCH = 100
DEVICE_BATCH = 10
"""The size of a batch for another device than the processor, where each program takes seconds."""
DEADLINE_S = 240
"""The time limit of a single program. A batch has this for its first program and `MORE_S` for each other one."""
MORE_S = 5
DEVICE_MORE_S = 60
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
    limit = DEADLINE_S + sum(MORE_S if case.device == "cpu" else DEVICE_MORE_S for case in cases[1:])
    return _Child(process, receive, cases, limit, time.monotonic() + limit, folder)


def _check(cases: Sequence[Case], folder: Path, flags: Sequence[str], send: Connection) -> None:
    os.setpgid(0, 0)  # a process group, so that `killpg` ends the C++ compiler too
    faulthandler.enable(2)
    send.send([(f.case.seed, f.stage, f.message) for f in check_cases(cases, folder / "build", flags)])


def finish(child: _Child) -> list[Finding] | str:
    """The findings of a batch whose process has ended or is out of time. If it sent none, how it ended, as a text."""
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


def apart(cases: Sequence[Case], what: str, flags: Sequence[str]) -> list[Finding]:
    """The findings of a batch whose process sent none. Halves of the batch are checked until each program that ends its process
    is alone. `what` says how the process of the whole batch ended."""
    if len(cases) == 1:
        return [Finding(cases[0], "process", what)]
    out: list[Finding] = []
    for half in (cases[: len(cases) // 2], cases[len(cases) // 2 :]):
        child = start(half, flags)
        wait([child.results], timeout=child.limit_s)
        found = finish(child)
        out += apart(half, found, flags) if isinstance(found, str) else found
    return out


def search(cases: Iterator[Case], jobs: int, flags: Sequence[str]) -> Iterator[tuple[Sequence[Case], list[Finding]]]:
    """Yields each batch with its findings as soon as it is done. `jobs` batches run at once."""
    running: list[_Child] = []
    many = DEVICE_BATCH
    while True:
        while len(running) < jobs and (batch := [case for _, case in zip(range(many), cases, strict=False)]):
            running.append(start(batch, flags))
            many = BATCH if batch[0].device == "cpu" else DEVICE_BATCH
        if not running:
            return
        left = max(0.0, min(c.until for c in running) - time.monotonic())
        done = wait([c.results for c in running], timeout=left)
        for child in [c for c in running if c.results in done or time.monotonic() > c.until]:
            running.remove(child)
            found = finish(child)
            if isinstance(found, str):
                found = apart(child.cases, found, flags)
            yield child.cases, found


def shrunk(finding: Finding, attempts: int, flags: Sequence[str]) -> Finding:
    """The same kind of finding in a smaller program, after at most `attempts` programs were tried."""
    best = finding

    def fails(case: Case) -> bool:
        nonlocal best
        other = alone(case, flags)
        if other is None or other.kind != finding.kind:
            return False
        best = other
        return True

    case = finding.case
    if case.model is not None:
        smaller_model(case.model, lambda model: fails(replace(case, model=model)), attempts)
    else:
        smaller(case.sample, lambda sample: fails(replace(case, sample=sample)), attempts)
    return best


def write(finding: Finding, small: Finding | None, folder: Path, command: str) -> Path:
    """Writes a finding to a file in `folder`. `small` is the shrunk finding, None if one of the same kind was shrunk before."""
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
    parser.add_argument(
        "--aot",
        type=int,
        metavar="PERCENT",
        help="of the programs have host code that is compiled, all others are interpreted; as drawn it is about half",
    )
    parser.add_argument(
        "--device", choices=get_args(Device), default="cpu", help="cuda: on the emulated driver, a build for each program"
    )
    parser.add_argument("--resume", action="store_true", help="leave out the programs that the folder says were checked")
    given = parser.parse_args(arguments)
    flags, fixed = given.flags.split(), dict(given.option)
    settings = {"options": dict(fixed), "aot": given.aot, "flags": flags}
    if given.device != "cpu":
        settings["device"] = given.device
        fixed |= {"kernels": "generated", "isa": "native"}
    progress = Progress(given.folder / "progress.jsonl", settings)
    if given.resume and (problem := progress.load()):
        parser.error(problem)
    with emulated() if given.device == "cuda" else nullcontext():
        seeds = range(given.seed, given.seed + given.count)
        return run(seeds, given.jobs, fixed, given.aot, flags, given.shrink, progress, given.device)


@dataclass
class Progress:
    """What was checked so far, kept in a file: the first line says how programs are drawn and built, each other is a batch."""

    path: Path
    settings: dict[str, Any]
    checked: set[int] = field(default_factory=set)
    findings: dict[int, str] = field(default_factory=dict)
    """The kind of each finding, by seed."""

    def load(self) -> str | None:
        """Reads the file. Gives what is wrong with it, or None."""
        if not self.path.exists():
            return None
        first, *batches = map(json.loads, self.path.read_text().splitlines())
        if first != self.settings:
            return f"{self.path} was begun with {first}, not {self.settings}: name another --folder, or the same settings"
        for batch in batches:
            self.checked |= set(batch["seeds"])
            self.findings |= {int(seed): kind for seed, kind in batch["findings"].items()}
        return None

    def add(self, cases: Sequence[Case], findings: Sequence[Finding]) -> None:
        if not self.checked:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(json.dumps(self.settings) + "\n")
        seeds, kinds = [c.seed for c in cases], {f.case.seed: f.kind for f in findings}
        with self.path.open("a") as file:
            file.write(json.dumps({"seeds": seeds, "findings": kinds}) + "\n")
        self.checked |= set(seeds)
        self.findings |= kinds

    def summary(self) -> str:
        refused = sorted(seed for seed, kind in self.findings.items() if REFUSED in kind)
        wrong = sorted(set(self.findings) - set(refused))
        right = len(self.checked) - len(self.findings)
        lines = [f"{len(self.checked)} programs: {right} right, {len(refused)} refused, {len(wrong)} wrong"]
        for name, seeds in (("refused", refused), ("wrong", wrong)):
            lines += [f"{name}: {' '.join(map(str, seeds))}"] if seeds else []
        lines += [f"{times:5} {kind}" for kind, times in Counter(self.findings.values()).most_common()]
        return "\n".join(lines)


def run(
    seeds: range,
    jobs: int,
    fixed: Mapping[str, Any],
    aot: int | None,
    flags: Sequence[str],
    shrink: int,
    progress: Progress,
    device: Device = "cpu",
) -> int:
    # Imported before forking, because it takes seconds.
    from backends.acrobat.kernels.cpu import templates  # noqa: F401

    runtime_build(compiler(), tuple(flags))
    kinds = set(progress.findings.values())
    begin = time.monotonic()
    left = [seed for seed in seeds if seed not in progress.checked]
    done = 0
    for batch, findings in search((drawn(seed, fixed, aot, device) for seed in left), jobs, flags):
        done += len(batch)
        for finding in findings:
            small = shrunk(finding, shrink, flags) if finding.kind not in kinds else None
            kinds.add(finding.kind)
            options = dict(fixed) | ({"codegen": finding.case.options.codegen} if aot is not None else {})
            more = "".join(f" --option {name}={value}" for name, value in options.items())
            more += f" --device {device}" if device != "cpu" else ""
            command = f"scripts/random-programs --seed {finding.case.seed} --count 1{more}"
            path = write(finding, small, progress.path.parent, command)
            print(f"seed {finding.case.seed}: {finding.kind} ({path})", flush=True)
        progress.add(batch, findings)
        minutes = (time.monotonic() - begin) / 60
        found = len(progress.findings)
        print(f"{done} of {len(left)} programs, {found} findings, {minutes:.1f} min", file=sys.stderr, flush=True)
    print(progress.summary())
    return 1 if progress.findings else 0


def drawn(seed: int, fixed: Mapping[str, Any], aot: int | None, device: Device = "cpu") -> Case:
    """The case of a seed for a device. `aot`: the percentage of seeds with compiled host code, or None to leave it as drawn."""
    if aot is not None:
        fixed = {"codegen": "aot" if seed % 100 < aot else "vm", **fixed}
    return replace(case_of(seed, fixed), device=device)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
