"""Deep recursions in several threads at a time, and what they leave behind."""

from __future__ import annotations

import sys
import threading

import pytest

from backends.acrobat.deep import FRAMES, deeply


def depth(n: int) -> int:
    return 1 + depth(n - 1) if n else 0


def test_several_calls_at_a_time_leave_the_limit_and_the_stack_size_as_they_were() -> None:
    before = sys.getrecursionlimit(), threading.stack_size()
    first_runs, second_runs, first_is_done = threading.Event(), threading.Event(), threading.Event()
    found: list[int] = []

    def first() -> None:
        first_runs.set()
        assert second_runs.wait(10)

    def second() -> None:
        second_runs.set()
        assert first_is_done.wait(10)
        found.append(depth(10_000))

    one = threading.Thread(target=deeply, args=[first])
    one.start()
    assert first_runs.wait(10)
    other = threading.Thread(target=deeply, args=[second])
    other.start()
    one.join()
    assert sys.getrecursionlimit() == FRAMES, "the second call still needs it"
    first_is_done.set()
    other.join()
    assert found == [10_000]
    assert (sys.getrecursionlimit(), threading.stack_size()) == before


def test_a_call_within_another() -> None:
    before = sys.getrecursionlimit()
    assert deeply(lambda: deeply(lambda: depth(10_000)) + depth(10_000)) == 20_000
    assert sys.getrecursionlimit() == before


def test_a_thread_that_cannot_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    before = sys.getrecursionlimit(), threading.stack_size()
    monkeypatch.setattr(threading.Thread, "start", fail)
    with pytest.raises(RuntimeError, match="can't start"):
        deeply(lambda: 1)
    assert (sys.getrecursionlimit(), threading.stack_size()) == before
