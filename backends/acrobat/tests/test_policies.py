"""Learned policies: they find wider batches than depth and the agenda do, and are kept in the cache."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Barrier
from typing import Any, TypeAlias

import pytest
import torch
from torch import Tensor, nn

from backends.acrobat import compile
from backends.acrobat.codegen import policy
from backends.acrobat.errors import InstanceError
from backends.acrobat.measured_model import Compiled
from backends.acrobat.options import Codegen, Executor, Options
from backends.acrobat.tests.support import assert_same, draw, eager


@dataclass(frozen=True, slots=True)
class Leaf:
    word: int


@dataclass(frozen=True, slots=True)
class Node:
    left: Tree
    right: Tree


Tree: TypeAlias = Leaf | Node


class Tagger(nn.Module):
    """A recursive network with an output at every node: ED-Batch's first example (Chen et al. 2023, figure 1). All outputs
    can be one batch, at the end; the agenda and depths run some of them after every level."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(10, 4)
        self.inner = nn.Linear(8, 4)
        self.output = nn.Linear(4, 3)

    def forward(self, tree: Tree) -> list[Tensor]:
        outputs: list[Tensor] = []
        self.encode(tree, outputs)
        return outputs

    def encode(self, tree: Tree, outputs: list[Tensor]) -> Tensor:
        match tree:
            case Leaf(word):
                h = torch.tanh(self.embedding.weight[word])
            case Node(left, right):
                h = torch.tanh(self.inner(torch.cat([self.encode(left, outputs), self.encode(right, outputs)])))
        outputs.append(self.output(h))
        return h


def comb(length: int, word: int = 0) -> Tree:
    tree: Tree = Leaf(word)
    for i in range(length):
        tree = Node(tree, Leaf((word + i) % 10))
    return tree


SAMPLE = [comb(6), comb(4, 3), Leaf(1)]
OTHERS = [comb(9, 5), comb(2, 1), comb(9, 2), Node(comb(3), comb(4))]


@pytest.fixture(scope="module")
def tagger(cache: Path) -> Any:
    torch.manual_seed(0)
    module = Tagger()

    def build(executor: Executor, codegen: Codegen = "aot", **settings: Any) -> Any:
        options = Options(executor=executor, phases=False, tables=False, codegen=codegen)
        return compile(module, options=options, checked=True, **{"cache_folder": cache, **settings})

    build.module = module  # type: ignore[attr-defined]
    return build


def batches(executable: Any, instances: list[Any]) -> float:
    executable(instances)
    return float(executable.counters()["batches"])


def test_outputs_are_one_batch_and_depth_and_agenda_take_many(tagger: Any, codegen: Codegen) -> None:
    learned = tagger("learned", codegen, sample=SAMPLE)
    for instances, depth in ((SAMPLE, 6), (OTHERS, 9)):
        bound = learned.lower_bound(instances)
        assert batches(learned, instances) == bound
        assert bound == tagger("dataflow", codegen).lower_bound(instances)
        for other in ("dataflow", "agenda"):
            assert batches(tagger(other, codegen), instances) >= bound + depth - 1
    assert_same(learned(OTHERS), eager(deepcopy(tagger.module).double(), OTHERS))


def test_the_bound_is_the_longest_path_of_each_unit(tagger: Any) -> None:
    """Only inner nodes depend on each other, so each level adds one batch. Embeddings of leaves may be a unit of their own."""
    agenda = tagger("agenda")
    alone = agenda.lower_bound([Leaf(1)])
    assert [agenda.lower_bound([comb(n), Leaf(2)]) - alone for n in (0, 1, 5)] == [0, 1, 5]
    assert agenda.lower_bound([]) == 0


def test_the_bound_of_a_mini_batch_is_computed_once() -> None:
    """Although the harness gives it as a new list in each run."""

    class Asked:
        executor = "learned"

        def __init__(self) -> None:
            self.asked: list[int] = []

        def counters(self) -> dict[str, int]:
            return dict.fromkeys(("nodes", "batches", "host_bytes", "tensor_bytes"), 1)

        def lower_bound(self, minibatch: list[Any]) -> int:
            self.asked.append(len(minibatch))
            return len(minibatch)

    asked = Asked()
    compiled = Compiled(asked, 1, bounds=True)
    for size in (4, 2, 4, 2, 0, 4, 0):
        compiled.minibatch = OTHERS[:size]
        assert compiled.counters()["lower_bound"] == size
    assert asked.asked == [4, 2, 0]


def test_without_a_sample_the_first_minibatch_teaches(tagger: Any) -> None:
    executable = tagger("learned")
    executable([])
    found: Any = executable.policy
    assert found is None, "there was nothing to learn from"
    first, second = batches(executable, SAMPLE), batches(executable, SAMPLE)
    found = executable.policy
    assert first == found.agenda > second == found.batches == found.lower_bound


def test_a_state_that_was_not_met_falls_back_to_the_agenda(tagger: Any) -> None:
    untrained = tagger("learned", sample=SAMPLE, policy_trials=0)
    assert untrained.policy.table == [] and untrained.policy.trials == 0
    assert batches(untrained, OTHERS) == batches(tagger("agenda"), OTHERS)


def test_the_same_sample_trials_and_seed_give_the_same_policy(tagger: Any, tmp_path: Path) -> None:
    """Each policy is learned anew, with an empty cache."""
    made = []
    for i, seed in enumerate((0, 0)):
        executable = tagger("learned", policy_seed=seed, sample=None)
        made.append(anew(executable, tmp_path / str(i)))
    assert made[0] == made[1]
    assert made[0].table and made[0].trials > 0


def anew(executable: Any, folder: Path) -> policy.LearnedPolicy:
    build = executable._build
    with executable._first.kept_graphs() as address:
        for instances in (SAMPLE, OTHERS):
            executable._first.run(instances)
        found = policy.learned_policy(build.lib, address, executable.folder, replace(build.settings, cache_folder=folder))
    assert found is not None
    return found


def test_it_is_kept_and_made_anew_where_it_is_damaged(tagger: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executable = tagger("learned", policy_trials=50)
    first = anew(executable, tmp_path)
    (file,) = (tmp_path / "policies").glob(f"*/{policy.FILE}")
    learns = []
    lib = executable._build.lib
    real = lib.acrobat_learn

    def counting(*args: Any) -> Any:
        learns.append(args)
        return real(*args)

    monkeypatch.setattr(lib, "acrobat_learn", counting)
    assert anew(executable, tmp_path) == first and not learns
    file.write_text(json.dumps({**json.loads(file.read_text()), "table": []}))
    assert anew(executable, tmp_path) == first and len(learns) == 1
    monkeypatch.setattr(policy, "FORMAT", policy.FORMAT + 1)
    assert anew(executable, tmp_path) == first and len(learns) == 2


def test_a_table_that_names_a_unit_which_is_not_ready_is_refused(tagger: Any) -> None:
    executable = tagger("learned")
    with pytest.raises(RuntimeError, match="does not have the unit"):
        executable._build.lib.acrobat_set_policy(executable._first.address(), 2, [((0, 1), 2)])


class Held:
    """A leaf whose number is read while `during` runs."""

    def __init__(self, during: Callable[[], Any]) -> None:
        self.during = during

    def __index__(self) -> int:
        self.during()
        return 1


def test_all_threads_run_by_what_one_has_learned(tagger: Any) -> None:
    """One thread learns while another is in a call, and so in a session of its own; then both sessions are used."""
    executable = tagger("learned")
    with ThreadPoolExecutor(1) as pool:
        executable([Leaf(Held(lambda: pool.submit(executable.learn, [SAMPLE]).result()))])  # type: ignore[arg-type]
        found = executable.policy
        assert found is not None and found.agenda > found.batches
        barrier = Barrier(2)

        def both(instances: list[Any]) -> float:
            return batches(executable, [*instances, Leaf(Held(lambda: barrier.wait(60)))])  # type: ignore[arg-type]

        other, own = pool.submit(both, SAMPLE), both(SAMPLE)
        assert own == other.result() == found.batches
        assert executable.policy is found


def test_learning_that_fails_keeps_the_policy(tagger: Any) -> None:
    executable = tagger("learned", sample=SAMPLE)
    found = executable.policy

    def nested() -> None:
        with pytest.raises(RuntimeError, match="running already"):
            executable.learn([SAMPLE])

    executable([Leaf(Held(nested))])  # type: ignore[arg-type]
    assert executable.policy is found and batches(executable, SAMPLE) == found.batches
    with pytest.raises(InstanceError):
        executable.learn([SAMPLE, ["x"]])
    assert executable.policy is found and batches(executable, SAMPLE) == found.batches


def test_other_executors_learn_nothing(tagger: Any) -> None:
    with pytest.raises(ValueError, match="executor=agenda learns no policy"):
        tagger("agenda").learn([SAMPLE])
    with pytest.raises(ValueError, match="executor=inline does not note"):
        tagger("inline").lower_bound(SAMPLE)
    with pytest.raises(ValueError, match="policy_trials=-1"):
        tagger("learned", policy_trials=-1)


def test_on_lattices_the_batches_are_within_a_tenth_of_the_bound(built: Any) -> None:
    """What ED-Batch is for: arcs of characters and of words over each other. The lattices of the sample are others."""
    learned = built("lattice", options=Options(executor="learned", codegen="vm"))
    learned.learn([draw("lattice", 16, seed) for seed in (1, 2, 3)])
    others: list[Executor] = ["dataflow", "agenda"]
    for seed in (4, 5):
        fresh = draw("lattice", 16, seed)
        found = batches(learned, fresh)
        assert 10 * found <= 11 * learned.lower_bound(fresh)
        for other in others:
            assert found < batches(built("lattice", options=Options(executor=other, codegen="vm")), fresh)


@pytest.mark.parametrize("name", ["drnn", "stackrnn"])
def test_instances_that_wait_learn_from_every_round(built: Any, name: str) -> None:
    executable = built(name, options=Options(executor="learned", codegen="vm"))
    executable.learn([draw(name, 6), draw(name, 6, seed=1)])
    found = executable.policy
    assert 0 < found.lower_bound <= found.batches <= found.agenda
    assert batches(executable, draw(name, 6)) >= executable.lower_bound(draw(name, 6))
