"""A child and its descendants: their processor time, how they are found and ended, and processes forked from a template."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest

import bench
from bench.cell import Cell
from bench.delays import Delays, between
from bench.family import Family, Usage, Used, adopting, is_running
from bench.isolate import Child, environment
from bench.monitor import own_load
from bench.template import Template
from bench.tests.conftest import QUICK, STRICT, cell

BURN = "import time\nwhile time.process_time() < 0.3: pass"


class Counted(Family):
    """A family whose processor time is what the test sets."""

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


@pytest.mark.parametrize(
    ("delay_s", "wall_s", "flags"),
    [
        (0.5, 1.0, []),
        (1.5, 1.0, ["had work for 2.0 threads at a time, asked for 1 thread"]),
        (0.2, 0.1, []),  # that is too short to tell
    ],
)
def test_a_busy_machine_hides_no_threads(delay_s: float, wall_s: float, flags: list[str]) -> None:
    """The family's threads run for half of the time, and are kept waiting for `delay_s` together."""
    usage = Usage(Counted())
    usage.asked["turn"] = Used().plus(wall_s / 2, wall_s, Delays(delay_s, 0.3))
    assert own_load(usage, 1, "turn") == flags


def test_who_sleeps_takes_time_and_who_is_kept_waiting_does_not() -> None:
    assert Used().plus(0.1, 1.0).cost_s == pytest.approx(0.1), "nothing is known of delays"
    assert Used().plus(0.1, 1.0, Delays(0.0, 0.0)).cost_s == pytest.approx(1.0)
    assert Used().plus(0.1, 1.0, Delays(0.3, 0.2)).cost_s == pytest.approx(0.5)
    assert Used().plus(0.1, 1.0, Delays(5.0, 0.0)).cost_s == pytest.approx(0.1)
    assert Used().plus(3.0, 1.0, Delays(0.0, 0.0)).cost_s == pytest.approx(1.0)
    assert between(Delays(2.0, 1.0), Delays(1.0, 1.5)) == Delays(0.0, 0.5), "a thread with a long delay has ended"
    assert between(None, Delays(1.0, 1.0)) is None


def test_work_while_others_have_their_turn() -> None:
    family = Counted()
    usage = Usage(family)
    usage.ask()
    usage.replied("turn", 1.0)
    usage.idle = Used(0.3, 100.0)
    assert own_load(usage, 1, "turn") == [], "a library's threads may wait a moment before they sleep"
    usage.idle = Used(0.9, 1.0)
    assert own_load(usage, 1, "turn") == ["used 0.9 cores while others had their turn"]
    usage.idle = Used().plus(0.2, 1.0, Delays(0.7, 0.0))
    assert own_load(usage, 1, "turn") == ["had work for 0.9 threads at a time while others had their turn"]
    usage.idle = Used().plus(0.05, 2.0, Delays(0.5, 0.0))
    assert own_load(usage, 1, "turn") == []


def test_all_of_a_family_counts() -> None:
    """The time of the head counts, that of a descendant whose parent has ended, and that of one that has ended itself."""
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
    with adopting():
        made = Child(tmp_path / "log", 1, 600.0, 1 << 30, limit_data=False)
        yield made
        made.kill()


def test_a_child_is_killed_once_where_two_threads_do_so_at_once(child: Child, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where one child of an oracle has failed and the others are ended, one of which has just failed by itself."""
    kill_family, first, both = child.family.kill, threading.Lock(), threading.Event()

    def kill() -> list[int]:
        if first.acquire(blocking=False):  # the first thread waits for the second, which must not come here as well
            both.wait(0.5)
        else:
            both.set()
            child.process.wait()
        return kill_family()

    monkeypatch.setattr(child.family, "kill", kill)
    with ThreadPoolExecutor(2) as pool:
        for each in [pool.submit(child.kill) for _ in range(2)]:
            each.result()
    assert not both.is_set() and not is_running(child.process.pid)


def adopts(pid: int) -> bool:
    """Whether this process, whose id is `pid`, becomes the parent of a descendant whose own parent ends."""
    code = "import os, time; os.fork() and os._exit(0); print(os.getpid(), flush=True); time.sleep(600)"
    started = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert started.stdout is not None
    left = int(started.stdout.readline())
    started.wait()
    found = psutil.Process(left).ppid() == pid
    os.kill(left, signal.SIGKILL)
    if found:
        os.waitpid(left, 0)
    return found


def test_processes_of_the_program_that_calls_the_harness_are_left_alone(tmp_path: Path) -> None:
    """Also one in a session of its own, as an orphan of a cell would be."""
    own = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    try:
        assert bench.run(cell("DetachesAsAnOrphan", note=str(tmp_path / "started")), QUICK, STRICT, tmp_path)["status"] == "ok"
        assert own.poll() is None
    finally:
        own.kill()
        own.wait()


def test_orphans_are_adopted_while_measuring_and_not_after(tmp_path: Path) -> None:
    before = adopts(os.getpid())
    with adopting():
        assert adopts(os.getpid())
    assert bench.run(cell(), QUICK, STRICT, tmp_path)["status"] == "ok"
    assert adopts(os.getpid()) is before


def test_a_template_is_forked_into_processes_of_their_own(tmp_path: Path) -> None:
    """The forked processes are children of this one, and each has a session and a log of its own."""
    toy = cell()
    with adopting():
        template = Template(environment(1, {"MKL_CBWR": "AVX2"}), {"target": toy.workload.target, "options": {"data": None}})
        made = [Child(tmp_path / f"log{i}", 1, 600.0, 1 << 30, limit_data=True, template=template) for i in range(2)]
        try:
            for each in made:
                pid = each.process.pid
                assert psutil.Process(pid).ppid() == os.getpid() and os.getsid(pid) == pid
                assert each.ask("load", cell=described(toy))["load_s"] >= 0
                assert each.shared_s == template.load_s > 0
                assert psutil.Process(pid).environ()["MKL_CBWR"] == "AVX2"
            made[0].kill()
            assert made[0].process.poll() == -signal.SIGKILL
            assert made[1].ask("open")["compile_s"] >= 0
            template.close()
            assert made[1].ask("probe")["run_s"] > 0, "a cell needs its template no more"
            assert (tmp_path / "log1").read_text() == ""
        finally:
            template.close()
            for each in made:
                each.kill()


def test_a_cell_has_a_fresh_process_where_its_template_cannot_be_forked(tmp_path: Path) -> None:
    with adopting():
        template = Template(environment(1, {}), {"target": "bench.tests.fakes.Threaded", "options": {"data": None}})
        made = Child(tmp_path / "log", 1, 600.0, 1 << 30, limit_data=False, template=template)
        try:
            assert made.ask("load", cell=described(cell()))["load_s"] >= 0
            assert "a fresh process: 1 threads of the imported libraries would be missing" in (tmp_path / "log").read_text()
        finally:
            template.close()
            made.kill()


@pytest.mark.parametrize("how", ["Applied", "SpinsBetween"])
def test_a_child_that_is_not_asked_sleeps(how: str, child: Child) -> None:
    child.ask("load", cell=described(cell(how)))
    child.ask("open")

    def waited() -> bool:
        child.ask("probe")
        return child.usage.idle.wall_s > 1.0 and (how == "Applied" or child.usage.idle.cpu_s > 0.3)

    _until(waited)
    if how == "Applied":
        assert child.usage.idle.cpu_s < 0.1


def described(toy: Cell) -> dict[str, Any]:
    """The cell in the form that the worker's `load` takes."""
    found = {key: getattr(toy, key) for key in ("size", "batch_size", "threads", "device", "seed", "minibatches")}
    for kind, part in (("workload", toy.workload), ("backend", toy.backend)):
        found[kind] = {"target": part.target, "options": dict(part.options)}
    return found


def _until(condition: Callable[[], bool]) -> None:
    """Wait until the condition holds, without a limit, because a busy machine may take long."""
    while not condition():
        time.sleep(0.05)
