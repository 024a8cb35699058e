"""A toy workload, an honest backend for it in numpy, and backends that cheat or break."""

from __future__ import annotations

import ctypes
import gc
import importlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from bench import clock
from bench.contract import Outputs, Target, Unsupported, Workload
from bench.verify import Expected

WIDTH = {"tiny": 16, "small": 64}
WORK_S = 0.004  # processor time of a run of `Works`


@dataclass(frozen=True)
class Vector:
    x: np.ndarray  # [width]
    times: int  # how often the layer is applied


class Toy:
    """A workload whose model applies `x = tanh(W x)` as many times as the instance says."""

    name = "toy"
    sizes: Sequence[str] = tuple(WIDTH)

    def __init__(self, data: str | None = None) -> None:
        self.data = data

    def model(self, size: str) -> Any:
        import torch  # only the oracle needs it

        class Model(torch.nn.Module):
            def __init__(self, width: int) -> None:
                super().__init__()
                self.layer = torch.nn.Linear(width, width, bias=False)

            def forward(self, instance: Vector) -> torch.Tensor:
                x = torch.from_numpy(instance.x).to(self.layer.weight.dtype)
                for _ in range(instance.times):
                    x = torch.tanh(self.layer(x))
                return x

        return Model(WIDTH[size])

    def params(self, size: str, seed: int) -> dict[str, np.ndarray]:
        random = np.random.default_rng(seed)
        return {"layer.weight": random.normal(0, 0.5, (WIDTH[size], WIDTH[size])).astype(np.float32)}

    def instances(self, size: str, seed: int, n: int) -> list[Any]:
        random = np.random.default_rng(seed + 1)
        return [Vector(random.normal(0, 1, WIDTH[size]).astype(np.float32), int(random.integers(1, 5))) for _ in range(n)]

    def scores(self, model: Any, instance: Any) -> Any:
        return None


class Honest:
    """A correct backend. `label` only makes cells that differ; `pace`: "slow" sleeps in each run, "both" gives two variants."""

    name = "honest"

    def __init__(self, target: Target, label: int = 0, pace: Literal["own", "both", "slow"] = "own") -> None:
        self.pace = pace

    def available(self) -> str | None:
        return None

    def variants(self) -> Sequence[Mapping[str, Any]]:
        return [{"pace": "slow"}, {"pace": "own"}] if self.pace == "both" else [{}]

    def compile(self, workload: Workload, size: str, seed: int, batch_size: int) -> Any:
        model = Applied(workload.params(size, seed)["layer.weight"])
        model.sleep_s = 0.005 if self.pace == "slow" else 0.0
        return model


class Emulated(Honest):
    """An honest backend that says that its device is emulated."""

    name = "emulated"

    def emulated(self) -> bool:
        return True


class Applied:
    """The toy model, compiled correctly. `note`: a text that the test gives, mostly the path of a file to write to."""

    note = ""
    batch_size = 0
    sleep_s = 0.0

    def __init__(self, weight: np.ndarray) -> None:
        self.weight = weight

    def place(self, instances: Sequence[Any]) -> list[Any]:
        return list(instances)

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        if self.sleep_s:
            time.sleep(self.sleep_s)
        return [self.apply(instance) for instance in minibatch]

    def apply(self, instance: Vector) -> np.ndarray:
        x = instance.x
        for _ in range(instance.times):
            x = np.tanh(self.weight @ x)
        return x

    def fetch(self, outputs: Outputs) -> list[Any]:
        return list(outputs)

    def counters(self) -> Mapping[str, Any]:
        return {"kernel_ms": 0.1, "batches": 3, "mean_batch_width": 2.5, "unbatched": {}}

    def close(self) -> None:
        pass


class Cheat(Honest):
    """A backend whose compiled model is of the class of this module that `how` names."""

    name = "cheat"
    optional = ("an_optional_module",)

    def __init__(self, target: Target, how: str = "Applied", note: str = "") -> None:
        super().__init__(target)
        self.how = how
        self.note = note

    def available(self) -> str | None:
        if self.how == "missing module":
            importlib.import_module("an_optional_module.inside")
        if self.how == "broken import":
            importlib.import_module("a_module_that_is_no_option")
        if self.how == "broken name":
            from bench.tests.fakes import nothing_of_this_name  # type: ignore[attr-defined]  # noqa: F401
        return "not installed" if self.how == "missing" else None

    def compile(self, workload: Workload, size: str, seed: int, batch_size: int) -> Any:
        if self.how == "refuses":
            raise Unsupported("only square things")
        model = globals()[self.how](workload.params(size, seed)["layer.weight"])
        model.note = self.note
        model.batch_size = batch_size
        return model


class PreviousResult(Applied):
    kept: Outputs = None

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        if self.kept is None:
            self.kept = super().run(minibatch)
        return self.kept


class HonestUntilTimed(Applied):
    """Does the work in the first runs, which are checked, and returns old outputs once it is timed."""

    calls = 0

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        self.calls += 1
        if self.calls <= 4:
            self.kept = super().run(minibatch)
        return self.kept


class OverwritesInput(Applied):
    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        outputs = super().run(minibatch)
        for instance in minibatch:
            instance.x[0] = 1e-6
        return outputs


class OverwritesInputUnseen(Applied):
    """Changes inputs in a way that its outputs do not depend on."""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        outputs = super().run(minibatch)
        minibatch[0].__dict__["times"] = minibatch[0].times + 0.0
        return outputs

    def apply(self, instance: Vector) -> np.ndarray:
        return super().apply(Vector(instance.x, int(instance.times)))


class Unwritten(Applied):
    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        return [np.empty_like(instance.x) for instance in minibatch]


class NotANumber(Applied):
    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        outputs = super().run(minibatch)
        outputs[-1][-1] = np.nan
        return outputs


class Slightly(Applied):
    """Gives one element of one instance that is wrong by one part in a hundred."""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        outputs = super().run(minibatch)
        outputs[-1][np.argmax(np.abs(outputs[-1]))] *= 1.01
        return outputs


class TooFew(Applied):
    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        return super().run(minibatch)[:-1]


class LateThread(Applied):
    """Returns at once and writes the answers from another thread."""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        outputs = [np.zeros_like(instance.x) for instance in minibatch]

        def work() -> None:
            time.sleep(0.02)
            for output, instance in zip(outputs, minibatch, strict=True):
                output[:] = self.apply(instance)

        threading.Thread(target=work).start()
        return outputs


class LateReused(LateThread):
    """Does the same, into buffers that still have the answers of the last run."""

    def __init__(self, weight: np.ndarray) -> None:
        super().__init__(weight)
        self.buffers: list[np.ndarray] = []

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        if not self.buffers:
            self.buffers = [np.zeros_like(instance.x) for instance in minibatch]

        def work() -> None:
            time.sleep(0.02)
            for output, instance in zip(self.buffers, minibatch, strict=True):
                output[:] = self.apply(instance)

        threading.Thread(target=work).start()
        return self.buffers


class LateFetch(Applied):
    """Puts the work off until the first fetch of the outputs."""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        self.done: list[np.ndarray] | None = None
        return list(minibatch)

    def fetch(self, outputs: Outputs) -> list[Any]:
        if self.done is None:
            time.sleep(0.005)
            self.done = [self.apply(instance) for instance in outputs]
        return self.done


class Raises(Applied):
    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        raise ValueError("no such thing")


class Crashes(Applied):
    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        ctypes.string_at(0)
        return []


class Exits(Applied):
    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        os._exit(0)


class Hangs(Applied):
    """Hangs, and starts processes, one of them in a session of its own; writes their ids to the file `note`."""

    note = ""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
        started = [subprocess.Popen(sleep), subprocess.Popen(sleep, start_new_session=True)]
        if self.note:
            Path(self.note).write_text(" ".join(str(p.pid) for p in started))
        while True:
            time.sleep(1)


class HangsTimed(Applied):
    """Hangs only once it is timed."""

    calls = 0

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        self.calls += 1
        if self.calls > 4:
            time.sleep(600)
        return super().run(minibatch)


class ExhaustsMemory(Applied):
    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        kept = []
        while True:
            kept.append(np.ones(1 << 24))


class ExhaustsInChildren(Applied):
    """Starts processes each of which keeps the memory limit, while all together exceed it."""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        take = [sys.executable, "-c", "x = bytearray(b'1') * (400 << 20); import time; time.sleep(600)"]
        for process in [subprocess.Popen(take) for _ in range(3)]:
            process.wait()
        return []


class AbortsForMemory(Applied):
    """Ends as after an uncaught std::bad_alloc."""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        os.write(2, b"terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n")
        os.abort()


class Prints(Applied):
    """Prints text that would do harm if it were taken for a reply, through Python and directly to the descriptor."""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        print('{"status": "failed", "why": "printed"}')
        os.write(1, b'{"samples_s": [0.0]}\n' * 1000)
        print("\x00 half a line", end="", file=sys.stderr)
        return super().run(minibatch)


class ClosesPipes(Applied):
    """Closes every file it can find, as some launchers do."""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        os.closerange(3, 256)
        time.sleep(600)
        return []


class Detaches(Applied):
    """Starts a process that forks twice and has a session and an environment of its own; writes its id to the file `note`."""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        if not Path(self.note).exists():
            subprocess.run(["env", "-i", "setsid", "-f", "sh", "-c", f"echo $$ > {self.note}; exec sleep 600"], check=True)
            while not Path(self.note).exists():
                time.sleep(0.01)
        return super().run(minibatch)


class DetachesAndDies(Detaches):
    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        super().run(minibatch)
        ctypes.string_at(0)
        return []


class SpinsBetween(Applied):
    """Keeps a processor busy also while other cells have their turn."""

    started = False

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        if not self.started:
            self.started = True
            subprocess.Popen([sys.executable, "-c", "while True: pass"])
        return super().run(minibatch)


class Floods(Applied):
    """Prints 32 MiB in each run."""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        os.write(1, b"flooded\n" * (4 << 20))
        return super().run(minibatch)


class UnsupportedTimed(Applied):
    """Raises Unsupported only once it is timed."""

    calls = 0

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        self.calls += 1
        if self.calls > 6:
            raise Unsupported("not today")
        return super().run(minibatch)


class CannotAllocateName(Applied):
    """Raises an error that says "cannot allocate" but is not about memory."""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        raise ValueError("cannot allocate a name for this variable")


class Rude(Applied):
    """Raises an error whose text has colours, control characters, markup, an unpaired surrogate and ten million letters."""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        raise ValueError("\n\n\x1b[31mred\x1b[0m [bold]\x07bell\udc80 " + "x" * 10_000_000)


class LazyEveryTime(Applied):
    """Does the work in each fetch."""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        return list(minibatch)

    def fetch(self, outputs: Outputs) -> list[Any]:
        burn(0.002)
        return super().run(outputs)


class LazyTwoOfThree(LazyEveryTime):
    """Does the work in every third run where it belongs, else in the fetch."""

    calls = 0

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        self.calls += 1
        if self.calls % 3:
            return list(minibatch)
        burn(0.002)
        return Applied.run(self, minibatch)

    def fetch(self, outputs: Outputs) -> list[Any]:
        return super().fetch(outputs) if self.calls % 3 else list(outputs)


class LazyLittle(LazyEveryTime):
    """Does all its work in the fetch, but so little that it is small beside the noise of a clock."""

    def fetch(self, outputs: Outputs) -> list[Any]:
        burn(0.00028)
        return Applied.run(self, outputs)


class Float16Outputs(Applied):
    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        return [output.astype(np.float16) for output in super().run(minibatch)]


class RoundedToFloat16(Applied):
    """Gives float32 arrays whose numbers are rounded to float16."""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        return [output.astype(np.float16).astype(np.float32) for output in super().run(minibatch)]


class FindsAnswers(Applied):
    """Looks for the oracle's answers in cache folders that its environment names and in its memory, and writes to the file
    `note` how many it finds."""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        folders = [Path(value) for value in os.environ.values() if value.startswith("/") and "cache" in value.lower()]
        files = [path for folder in folders if folder.is_dir() for path in folder.rglob("*.npz")]
        held = [each for each in gc.get_objects() if isinstance(each, Expected)]
        Path(self.note).write_text(f"{len(files)} {len(held)}")
        return super().run(minibatch)


class RemembersContent(Applied):
    """Does the work once for each content of a mini-batch, and then returns the remembered outputs."""

    def __init__(self, weight: np.ndarray) -> None:
        super().__init__(weight)
        self.known: dict[bytes, Outputs] = {}

    def key(self, minibatch: Sequence[Vector]) -> bytes:
        return b"".join(instance.x.tobytes() for instance in minibatch)

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        key = self.key(minibatch)
        if key not in self.known:
            burn(0.005)
            self.known[key] = super().run(minibatch)
        return self.known[key]


class RemembersIdentity(RemembersContent):
    def key(self, minibatch: Sequence[Vector]) -> bytes:
        return repr([id(instance) for instance in minibatch]).encode()


class AnswersAtFirst(RemembersContent):
    """Computes the answers to the first instances while placing them, and works in `run` only for other ones."""

    def place(self, instances: Sequence[Any]) -> list[Any]:
        if not self.known:
            for i in range(0, len(instances), self.batch_size):
                RemembersContent.run(self, instances[i : i + self.batch_size])
        return list(instances)

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        known = self.known.get(self.key(minibatch))
        if known is None:
            burn(0.005)
            return Applied.run(self, minibatch)
        return known


@dataclass(frozen=True)
class Count:
    """An instance without a tensor."""

    times: int
    width: int

    @property
    def x(self) -> np.ndarray:
        return np.linspace(-1, 1, self.width, dtype=np.float32)


class Counts(Toy):
    """The toy workload with instances without tensors."""

    name = "counts"

    def instances(self, size: str, seed: int, n: int) -> list[Any]:
        return [Count(each.times, WIDTH[size]) for each in super().instances(size, seed, n)]


class AnswersInPlace(Applied):
    """Computes the answers to the instances that it is given to place, and writes their number to the file `note`."""

    def __init__(self, weight: np.ndarray) -> None:
        super().__init__(weight)
        self.known: dict[int, np.ndarray] = {}

    def place(self, instances: Sequence[Any]) -> list[Any]:
        Path(self.note).write_text(str(len(instances)))
        burn(0.5)
        self.known = {id(instance): self.apply(instance) for instance in instances}
        return list(instances)

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        return [self.known[id(each)] if id(each) in self.known else self.apply(each) for each in minibatch]


class Works(Applied):
    """Uses `WORK_S` of processor time in each run."""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        burn(WORK_S)
        return super().run(minibatch)


def slowed(now: Callable[[], int]) -> Callable[[], int]:
    start = now()
    return lambda: start + (now() - start) // 100


class PatchesClock(Works):
    """Replaces the clock, in `time` and in bench/clock.py, by one that runs 100 times slower."""

    def __init__(self, weight: np.ndarray) -> None:
        super().__init__(weight)
        clock.perf_counter_ns = slowed(time.perf_counter_ns)  # type: ignore[attr-defined]
        time.perf_counter_ns = slowed(time.perf_counter_ns)


class PatchesDefaults(Works):
    """Replaces the clock in the default arguments of `clock.sample`."""

    def __init__(self, weight: np.ndarray) -> None:
        super().__init__(weight)
        clock.sample.__defaults__ = (1, slowed(time.perf_counter_ns))


class PatchesSample(Works):
    """Replaces `clock.sample`, which reads the clock, by a function that tells a hundredth of the time."""

    def __init__(self, weight: np.ndarray) -> None:
        super().__init__(weight)
        honest = clock.sample

        def sample(*arguments: Any) -> clock.Sample:
            found = honest(*arguments)
            found.run_ns //= 100
            return found

        clock.sample = sample  # type: ignore[assignment]


def burn(seconds: float) -> None:
    """Use so many seconds of processor time."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


class KnowsWhatItWasChecked(RemembersContent):
    """Is right for the instances that it was given first; for others it is wrong in the same form, after as much work."""

    def place(self, instances: Sequence[Any]) -> list[Any]:
        self.seen = getattr(self, "seen", None) or {instance.x.tobytes() for instance in instances}
        return list(instances)

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        outputs = Applied.run(self, minibatch)
        return outputs if minibatch[0].x.tobytes() in self.seen else [output + 0.1 for output in outputs]


class InFewerBits(Applied):
    """Cuts operands to 16 bits of significand; the last step is in float32, so that the outputs do not look rounded."""

    def apply(self, instance: Vector) -> np.ndarray:
        x = instance.x
        for _ in range(instance.times):
            x = np.tanh(self.weight @ (x.view(np.uint32) & ~np.uint32(0xFF)).view(np.float32))
        return x


class InFewerBitsAsSaid(InFewerBits):
    def facts(self) -> Mapping[str, Any]:
        return {"precision": "16 bits"}


class ReadsAnswers(Applied):
    """Knows where the oracle keeps its answers, and in each run writes how many files are there. `note`: "folder|file"."""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        folder, said = self.note.split("|")
        found = sum(1 for _ in Path(folder).rglob("*.npz"))
        with Path(said).open("a") as file:
            file.write(f"{found}\n")
        return super().run(minibatch)


class PatchesSession(Works):
    """Replaces methods of the worker's session by some that tell a hundredth of the time."""

    def __init__(self, weight: np.ndarray) -> None:
        super().__init__(weight)
        from bench.worker import Session

        turn, replay = Session.turn, Session.replay

        def shorter_turn(self: Any, order: list[int], first: int, steady: int, timed: int) -> dict[str, Any]:
            reply = turn(self, order, first, steady, timed)
            return {**reply, "samples_s": [s / 100 for s in reply["samples_s"]], "settled_s": reply["settled_s"] / 100}

        def shorter_elapsed(self: Any, runs: int, minibatches: int) -> dict[str, Any]:
            return {"told_s": runs * WORK_S / 100}

        def shorter_replay(self: Any, minibatches: int, unseen: bool) -> dict[str, Any]:
            reply = replay(self, minibatches, unseen)
            return {"times": [[wall // 100, cpu // 100] for wall, cpu in reply["times"]]}

        Session.turn, Session.replay = shorter_turn, shorter_replay  # type: ignore[method-assign]
        Session.elapsed = shorter_elapsed  # type: ignore[method-assign]


class FromFile(Toy):
    """A toy workload with a data file, which has a seed for each instance."""

    name = "fromfile"

    def instances(self, size: str, seed: int, n: int) -> list[Any]:
        lines = Path(str(self.data)).read_text().split()
        return [self._made(size, int(lines[i % len(lines)])) for i in range(n)]

    def unseen(self, size: str, seed: int, n: int) -> list[Any]:
        return [self._made(size, seed + i) for i in range(n)]

    def _made(self, size: str, seed: int) -> Vector:
        random = np.random.default_rng(seed)
        return Vector(random.normal(0, 1, WIDTH[size]).astype(np.float32), int(random.integers(1, 5)))


class Threaded(Toy):
    """A workload that loads a library which keeps a thread."""

    name = "threaded"

    def load(self) -> None:
        threading.Thread(target=time.sleep, args=(600,), daemon=True).start()


class SameAnyhow(Honest):
    """A backend with two variants that are the same program, because the option makes no difference."""

    name = "same"

    def __init__(self, target: Target, tables: bool | Literal["both"] = "both") -> None:
        super().__init__(target)
        self.tables = tables

    def variants(self) -> Sequence[Mapping[str, Any]]:
        return [{"tables": True}, {"tables": False}] if self.tables == "both" else [{}]

    def compile(self, workload: Workload, size: str, seed: int, batch_size: int) -> Any:
        return Identified(workload.params(size, seed)["layer.weight"])


class Identified(Applied):
    def identity(self) -> str:
        return "the same"
