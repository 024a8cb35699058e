"""The oracle's answers: computed in a child process, and held in the memory of the process that verifies.

They depend on the workload, its options, its sources, the size and the seed, but not on batch size, backend or device, and can
take long to compute. So they are kept on disk between sessions, in files of a few instances each. The name of a file contains a
hash of its content; a damaged file is computed again. While cells run there are no such files, so that no backend can read
them: `take` reads them into memory and removes them before the first process of a cell starts, and `give_back` writes them
again after the last one has ended. If the harness is killed in between, they are computed again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from bench import answers, sources
from bench.answers import Answer
from bench.cache import folders
from bench.cell import Cell
from bench.files import put
from bench.isolate import Child, Ended
from bench.software import version
from bench.status import Status

CHUNK = 8  # instances in a file
UNSEEN_S = 5.0  # the time for answers to instances that no system has seen, which can be used only once


class Oracle:
    """The answers to the instances of a cell, which do not depend on its backend. `spawn` starts a child that computes them,
    on one thread: a model's operations on a single instance are so small that several threads would wait for each other most
    of the time. So as many as `children` children compute at once."""

    def __init__(self, cell: Cell, spawn: Callable[[], Child], children: int = 1) -> None:
        self.cell = cell
        self._spawn = spawn
        self._children = children
        part = cell.workload
        key = {
            "options": part.canonical_options(),
            "source": sources.digest([*sources.workload_files(part.target), *sources.oracle_files()]),
            "software": [version("numpy"), version("torch")],
            "size": cell.size,
            "seed": cell.seed,
            "chunk": CHUNK,
        }
        digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:16]
        name = f"{part.name}-{cell.size}-{digest}"
        self.folders = [folder / "oracle" / name for folder in folders()]
        self._held: dict[int, bytes] = {}  # by chunk, the content of its file
        self._answers: dict[int, list[Answer]] = {}
        self._unseen: dict[tuple[int, tuple[int, ...]], list[Answer]] = {}
        self._one_at_a_time = threading.Lock()

    def take(self) -> None:
        """Read the stored answers into memory, and remove them from where a backend could read them."""
        for path in (path for folder in self.folders for path in sorted(folder.glob("*.npz"))):
            try:
                content = path.read_bytes()
            except OSError:  # another session has just taken it
                continue
            with contextlib.suppress(OSError):  # nothing can be removed from a folder that is read-only
                path.unlink()
            if path.stem[:6].isdecimal() and path.stem.endswith(
                f"-{_digest(content)}"
            ):  # undamaged, and none of another program
                self._held[int(path.stem[:6]) // CHUNK] = content

    def give_back(self) -> None:
        """Write all answers in memory to disk for the next session, in the first of the folders that can be written to."""
        for folder in self.folders:
            try:
                for chunk, content in self._held.items():
                    path = folder / f"{chunk * CHUNK:06d}-{_digest(content)}.npz"
                    if not path.exists():
                        put(path, content)
                return
            except OSError:
                continue

    def answers(self, minibatches: int, progress: Callable[[str], None]) -> list[list[Answer]]:
        """The answers to the instances of each of the first `minibatches` mini-batches. Raises `isolate.Ended` with status
        `unverified` if they cannot be computed, which is no fault of a backend; the next command tries again."""
        size = self.cell.batch_size
        chunks = range(-(-size * minibatches // CHUNK))
        with self._one_at_a_time:
            missing = [chunk for chunk in chunks if chunk not in self._held]
            if missing:
                self._compute(missing, progress)
            for chunk in chunks:
                if chunk not in self._answers:
                    self._answers[chunk] = answers.load(self._held[chunk])
        by_instance = [answer for chunk in chunks for answer in self._answers[chunk]]
        return [by_instance[i * size : (i + 1) * size] for i in range(minibatches)]

    def unseen(self, seed: int, instances: Sequence[int], progress: Callable[[str], None]) -> list[Answer]:
        """The answers to the unseen instances drawn from `seed` whose numbers are `instances`: to the first of them, as many as
        can be computed in `UNSEEN_S` seconds, at least one. They are held in memory only."""
        key = (seed, tuple(instances))
        with self._one_at_a_time:
            if key not in self._unseen:
                progress("float64 oracle of instances that nobody has seen")
                child = self._child()
                try:
                    self._unseen[key] = self._ask(child, seed, instances, unseen=True, within_s=UNSEEN_S)[0]
                finally:
                    child.kill()
        return self._unseen[key]

    def _compute(self, missing: Sequence[int], progress: Callable[[str], None]) -> None:
        waiting = deque(missing)
        living: list[Child] = []

        def work() -> None:
            child = self._child()
            living.append(child)
            try:
                while True:
                    try:
                        chunk = waiting.popleft()
                    except IndexError:
                        return
                    progress(f"float64 oracle {len(missing) - len(waiting) - 1}/{len(missing)}")
                    instances = range(chunk * CHUNK, (chunk + 1) * CHUNK)
                    self._answers[chunk], self._held[chunk] = self._ask(child, self.cell.seed, instances)
            finally:
                waiting.clear()  # where this child could not go on, the others need not either
                child.kill()

        with ThreadPoolExecutor(min(self._children, len(missing))) as pool:
            working = [pool.submit(work) for _ in range(min(self._children, len(missing)))]
            try:
                for each in working:
                    each.result()
            except BaseException:
                waiting.clear()
                for child in living:  # so that the pool does not wait for them
                    child.kill()
                raise

    def _child(self) -> Child:
        try:
            return self._spawn()
        except OSError as error:
            raise _none(str(error)) from error

    def _ask(
        self, child: Child, seed: int, instances: Sequence[int], unseen: bool = False, within_s: float | None = None
    ) -> tuple[list[Answer], bytes]:
        try:
            reply = child.ask(
                "oracle", **self._question(), seed=seed, instances=list(instances), unseen=unseen, within_s=within_s
            )
        except Ended as ended:
            raise _none(f"{ended.status}: {ended.why}") from ended
        content = child.outputs.bytes(reply["size"])
        child.outputs.empty()
        return answers.load(content), content

    def _question(self) -> Mapping[str, Any]:
        part = self.cell.workload
        workload = {"target": part.target, "options": dict(part.options)}
        return {"workload": workload, "size": self.cell.size, "model_seed": self.cell.seed}


def _none(why: str) -> Ended:
    return Ended(Status.UNVERIFIED, f"no oracle: {why}", again=True)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
