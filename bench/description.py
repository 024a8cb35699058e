"""What the process that measures knows of a backend's class, without importing it.

A module that is imported can change the program that imports it: the clocks, the comparison with the oracle, other backends. So
a backend is imported only in processes of its own: in those of its cells, and in one that answers what the harness must know
before it makes cells, which are the class's options, its variants, and what it names in `uses`, `packages` and `programs`.

A server, this file as a program, forks a process for each question and relays the answers, which are JSON. No backend's code
runs in the server itself, so no answer can depend on another backend. It lives as long as the process that asks.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from time import monotonic
from typing import IO, Any

from bench import options as schema
from bench.contract import Target
from bench.environment import WITHHELD
from bench.family import Family, adopt_orphans, reap
from bench.log import one_line
from bench.options import ConfigError, Option
from bench.targets import resolve

DEADLINE_S = 60.0  # for importing a backend's module and asking its class
LONGEST = 1 << 20  # bytes of an answer
PROJECT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


@dataclass(frozen=True)
class Question:
    """Which class, and with which options on which device; `name` is that of the backend, for messages."""

    name: str
    target: str
    options: Mapping[str, Any] = field(default_factory=dict)
    device: str = "cpu"
    threads: int = 1


@dataclass(frozen=True)
class Description:
    """`why`: the reason why there is no class. `options`, `uses`, `packages`, `programs`: what the class names. `complete`: the
    options in the question with the defaults of all others; `variants`: the options of each variant. These two are None where
    the class raised anything, as it will in its cell. `refused`: why the options in the question are not allowed."""

    why: str | None = None
    options: Mapping[str, Option] = field(default_factory=dict)
    uses: Sequence[str] = ()
    packages: Sequence[str] = ()
    programs: Sequence[str] = ()
    complete: Mapping[str, Any] | None = None
    variants: Sequence[Mapping[str, Any]] | None = None
    refused: str | None = None


def ask(questions: Sequence[Question]) -> list[Description]:
    """The answers to questions, of which those not asked before are answered at the same time."""
    keys = [json.dumps(asdict(question), sort_keys=True, default=str) for question in questions]
    with _lock:
        new = {key: question for key, question in zip(keys, questions, strict=True) if key not in _known}
        if new:
            for key, question, text in zip(new, new.values(), _server.ask([*new.values()]), strict=True):
                _known[key] = _read(text)
                if _known[key].why is None:
                    _classes[question.target] = _known[key]
        return [_known[key] for key in keys]


def start() -> None:
    """Start the server now, so that it is ready when the first question comes."""
    with _lock, contextlib.suppress(OSError):
        _server.pipes()


def described(target: str) -> Description:
    """What is known of the class with this dotted name, whatever its options are."""
    return _classes[target] if target in _classes else ask([Question(target, target)])[0]


class _Server:
    """The process that answers, started when it is asked for the first time, and anew in a forked process."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def ask(self, questions: Sequence[Question], again: bool = True) -> list[str]:
        """The answers as texts of JSON. Where the process ends meanwhile each question is asked by itself, and `again`: it may
        have ended before, and a backend that ends it must not change what is known of the others."""
        path = [each or os.getcwd() for each in sys.path]
        asked = [asdict(question) | {"path": path} for question in questions]
        line = json.dumps(asked, default=str).encode() + b"\n"
        try:
            requests, replies = self.pipes()
            requests.write(line)
            requests.flush()
            answers = json.loads(replies.readline())
        except (OSError, ValueError) as error:
            self.close()
            if len(questions) > 1 or again:
                return [self.ask([question], again=False)[0] for question in questions]
            return [json.dumps({"why": f"the process that asks backends has ended: {error}"})] * len(questions)
        except BaseException:  # its answer is still to come, and would be taken for that to the next questions
            self.close()
            raise
        return [str(answer) for answer in answers]

    def pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        """Its ends of the pipes for questions and for answers. Starts the process unless it is running."""
        if self._process is None or self._owner != os.getpid() or self._process.poll() is not None:
            path = os.pathsep.join(filter(None, [PROJECT, os.environ.get("PYTHONPATH", "")]))
            self._process = subprocess.Popen(
                [sys.executable, "-m", "bench.description"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                process_group=0,  # so that an interruption from the keyboard is for this process alone
                env={name: value for name, value in os.environ.items() if name not in WITHHELD} | {"PYTHONPATH": path},
            )
            self._owner = os.getpid()
            atexit.register(self.close)
        assert self._process.stdin is not None and self._process.stdout is not None
        return self._process.stdin, self._process.stdout

    def close(self) -> None:
        if self._process is not None and self._owner == os.getpid():
            self._process.kill()
            self._process.communicate()
        self._process = None


_lock = threading.Lock()
_server = _Server()
_known: dict[str, Description] = {}  # by question
_classes: dict[str, Description] = {}  # one for each class, by its dotted name


def _read(text: str) -> Description:
    """The answer in a text that a backend's process has written; a malformed one is no answer."""
    if not text:
        return Description(why="its module ended the process that imported it, or took too long")
    try:
        found = json.loads(text)
        answer = Description(options={name: Option(*each) for name, each in found.pop("options", {}).items()}, **found)
        texts = [*answer.uses, *answer.packages, *answer.programs, answer.why or "", answer.refused or ""]
        mappings = [*(answer.variants or ()), answer.complete or {}]
    except (TypeError, ValueError, AttributeError, RecursionError):
        return Description(why=f"no readable answer: {text[:60]!r}")
    texts += [option.choices for option in answer.options.values()]
    if all(isinstance(each, str) for each in texts) and all(isinstance(each, dict) for each in mappings):
        return answer
    return Description(why="its answer is not of the types that are asked for")


def answer(question: Mapping[str, Any]) -> dict[str, Any]:
    """What a backend's class says to a question: the fields of a `Description`. Called in a process of its own."""
    name, section = question["name"], f"backend.{question['name']}"
    try:
        cls = resolve(question["target"])
    except ImportError as error:
        return {"why": one_line(error)}
    found: dict[str, Any] = {key: [*map(str, getattr(cls, key, ()))] for key in ("uses", "packages", "programs")}
    with contextlib.suppress(Exception):
        found["options"] = schema.options(cls)
    try:
        found["complete"] = schema.conform(cls, question["options"], section)
        backend = cls(Target(question["device"], question["threads"]), **found["complete"])
        found["variants"] = [schema.conform(cls, {**found["complete"], **each}, name) for each in backend.variants()]
    except ConfigError as error:
        if "complete" not in found:
            found["refused"] = str(error)
    except ValueError as error:
        found["refused"] = f"{section}: {one_line(error)}"
    except Exception:  # it comes again in the cell, which says all that there is to say of it
        pass
    return {key: value for key, value in found.items() if _is_plain(value)}


def _is_plain(value: Any) -> bool:
    """Whether JSON can hold it."""
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return False
    return True


def _start(question: Mapping[str, Any]) -> int:
    """Fork a process that answers the question. Returns the descriptor from which to read the answer."""
    reading, writing = os.pipe()
    if os.fork():
        os.close(writing)
        return reading
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(nothing, standard)
        os.closerange(3, writing)  # the answers of the others
        sys.path[:] = question["path"]
        unwritten = json.dumps(answer(question)).encode()
        while unwritten:
            unwritten = unwritten[os.write(writing, unwritten) :]
    finally:
        os._exit(0)


def _collect(descriptors: Sequence[int]) -> list[str]:
    """The answers, read from the descriptors; an empty text for one that has not come in time."""
    until = monotonic() + DEADLINE_S
    texts = {descriptor: bytearray() for descriptor in descriptors}
    waiting = set(descriptors)
    while waiting and (left_s := until - monotonic()) > 0:
        for descriptor in select.select(list(waiting), [], [], left_s)[0]:
            chunk = os.read(descriptor, 1 << 16)
            texts[descriptor] += chunk
            if not chunk or len(texts[descriptor]) > LONGEST:
                waiting.discard(descriptor)
    for descriptor in descriptors:
        os.close(descriptor)
    return ["" if descriptor in waiting else text.decode(errors="replace") for descriptor, text in texts.items()]


def main() -> None:
    """Answer lists of questions, a line of JSON each, until there are no more."""
    adopt_orphans()
    for line in sys.stdin.buffer:
        answers = _collect([_start(question) for question in json.loads(line)])
        reap(Family(os.getpid()).end_descendants())
        print(json.dumps(answers), flush=True)


if __name__ == "__main__":
    main()
