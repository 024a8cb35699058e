"""What a child and its descendants do with the processors, and their end."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bench.family import Family, Usage, Used, is_running
from bench.isolate import Child
from bench.monitor import own_load
from bench.tests.conftest import cell

BURN = "import time\nwhile time.process_time() < 0.3: pass"


class Counted(Family):
    """A family that uses what the test says."""

    used = 0.0

    def __init__(self) -> None:
        super().__init__(0)

    def cpu_s(self) -> float:
        return self.used


@pytest.mark.parametrize(
    ("cores", "threads", "flags"), [(0.4, 1, []), (1.1, 1, []), (1.9, 1, ["used 1.9 cores, asked for 1 thread"]), (1.9, 2, [])]
)
def test_cores_against_threads(cores: float, threads: int, flags: list[str]) -> None:
    family = Counted()
    usage = Usage(family)
    for _ in range(5):
        usage.ask()
        family.used += 2 * cores
        usage.replied("turn", 2.0)
    assert own_load(usage, threads, "turn") == flags


def test_work_while_others_have_their_turn() -> None:
    family = Counted()
    usage = Usage(family)
    usage.ask()
    usage.replied("turn", 1.0)
    usage.idle = Used(0.3, 100.0)
    assert own_load(usage, 1, "turn") == [], "a library's threads may wait a moment before they sleep"
    usage.idle = Used(0.9, 1.0)
    assert own_load(usage, 1, "turn") == ["used 0.9 cores while others had their turn"]


def test_all_of_a_family_counts() -> None:
    """What works now, a descendant whose parent has gone, and one that has ended."""
    code = f"""
import subprocess, sys, time
from bench.family import adopt_orphans
adopt_orphans()
burn = {BURN!r}
subprocess.run([sys.executable, "-c", burn])
subprocess.run(["setsid", "-f", sys.executable, "-c", burn + chr(10) + "time.sleep(600)"])
{BURN}
print("done", flush=True)
time.sleep(600)
"""
    head = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, start_new_session=True)
    family = Family(head.pid)
    try:
        assert head.stdout is not None and head.stdout.readline() == "done\n"
        _until(lambda: family.cpu_s() >= 0.85)
        (stray,) = family.strays()
        assert stray in family.descendants()
    finally:
        family.kill()
        head.wait()
    _until(lambda: not is_running(stray))


@pytest.fixture
def child(tmp_path: Path) -> Iterator[Child]:
    made = Child(tmp_path / "log", 1, 600.0, 1 << 30, limit_data=False)
    yield made
    made.kill()


@pytest.mark.parametrize("how", ["Applied", "SpinsBetween"])
def test_a_child_that_is_not_asked_sleeps(how: str, child: Child) -> None:
    toy = cell(how)
    described = {key: getattr(toy, key) for key in ("size", "batch_size", "threads", "device", "seed", "minibatches")}
    for part in (toy.workload, toy.backend):
        kind = "workload" if part is toy.workload else "backend"
        described[kind] = {"target": part.target, "options": dict(part.options)}
    child.ask("load", cell=described)
    child.ask("open")

    def waited() -> bool:
        child.ask("probe")
        return child.usage.idle.wall_s > 1.0 and (how == "Applied" or child.usage.idle.cpu_s > 0.3)

    _until(waited)
    if how == "Applied":
        assert child.usage.idle.cpu_s < 0.1


def _until(condition: Callable[[], bool]) -> None:
    """However long it takes on a busy machine; a condition that is never met ends with the test run."""
    while not condition():
        time.sleep(0.05)
