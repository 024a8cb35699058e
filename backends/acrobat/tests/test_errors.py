"""Errors at run time: the message names the instance and the path, and the executable stays usable."""

from __future__ import annotations

import copy
import ctypes
import mmap
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from backends.acrobat import builds, compile
from backends.acrobat.errors import InstanceError, ResourceError, ScheduleError
from backends.acrobat.ir.nodes import Launch, Let, Program
from backends.acrobat.ir.visitor import walk
from backends.acrobat.options import Options
from backends.acrobat.pipeline import facts_for
from backends.acrobat.schedule.lower import lower
from backends.acrobat.schedule.nodes import Schedule
from backends.acrobat.tests.models import Cell, Endless, Item, Items, Linked, LinkedThatWaits, Unending
from backends.acrobat.tests.support import assert_same, draw, eager, tiny
from workloads.treelstm.model import Leaf, Node

CELL = Cell(torch.ones(4), True, 0.5, 3, [1, 2], Cell(torch.zeros(4), False, 1.0, -1, [], None))


def cell(**changes: Any) -> Cell:
    """A chain of two cells; `changes` are fields of the inner one."""
    assert CELL.rest is not None
    return replace(CELL, rest=replace(CELL.rest, **changes))


@pytest.fixture(scope="module", params=[Linked, LinkedThatWaits], ids=["plain", "waits"])
def linked(request: Any, cache: Path) -> Any:
    model = request.param()
    executable = compile(model, cache_folder=cache, checked=True)
    return executable, eager(copy.deepcopy(model).double(), [CELL, cell()])


MALFORMED = {
    "wrong class": (Leaf(1), r"instance 1.*Leaf"),
    "none": (None, r"instance 1.*None"),
    "list for tensor": (cell(value=[1.0] * 4), r"instance 1, at \.?rest\.value: .*Tensor of shape \(4,\).*list"),
    "shape": (cell(value=torch.ones(5)), r"instance 1, at \.?rest\.value: .*\(4,\).*\(5,\)"),
    "rank": (cell(value=torch.ones(1, 4)), r"instance 1, at \.?rest\.value: .*\(4,\).*\(1, 4\)"),
    "dtype": (cell(value=torch.ones(4).double()), r"instance 1, at \.?rest\.value: .*float32.*dtype"),
    "int tensor": (cell(value=torch.ones(4).int()), r"instance 1, at \.?rest\.value: .*float32.*dtype"),
    "meta tensor": (cell(value=torch.ones(4, device="meta")), r"instance 1, at \.?rest\.value: .*CPU.*cannot be read"),
    "int for bool": (cell(flag=1), r"instance 1, at \.?rest\.flag: .*bool.*int"),
    "text for float": (cell(rate="x"), r"instance 1, at \.?rest\.rate: .*float.*str"),
    "huge float": (cell(rate=10**400), r"instance 1, at \.?rest\.rate: .*float"),
    "float for int": (cell(count=1.5), r"instance 1, at \.?rest\.count: .*int.*float"),
    "huge int": (cell(count=2**63), r"instance 1, at \.?rest\.count: .*64 bits"),
    "tensor for a cell": (cell(rest=torch.ones(4)), r"instance 1, at \.?rest\.rest: expected a Cell, got .* Tensor"),
    "none for a tensor": (cell(value=None), r"instance 1, at \.?rest\.value: expected a Tensor of shape \(4,\), got None"),
    "no list": (cell(tags=7), r"instance 1, at \.?rest\.tags: .*list.*int"),
    "item": (cell(tags=[1, None]), r"instance 1, at \.?rest\.tags\[1\]: .*int.*None"),
    "index": (cell(tags=[1, 5]), r"instance 1.*index 5 is out of range.*5 rows"),
    "negative index": (cell(tags=[-6]), r"instance 1.*index -6 is out of range.*5 rows"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_what_does_not_fit_is_named(linked: Any, case: str) -> None:
    executable, want = linked
    instance, message = MALFORMED[case]
    with pytest.raises(InstanceError, match=message):
        executable([CELL, instance, CELL])
    assert_same(executable([CELL, cell()]), want)


def test_a_mini_batch_is_a_list(linked: Any) -> None:
    executable, want = linked
    with pytest.raises(TypeError, match="list of instances"):
        executable(CELL)
    for wrong in (None, 3):
        with pytest.raises(TypeError, match="list of instances"):
            executable(wrong)
    with pytest.raises(InstanceError, match="instance 0: expected a Cell, got a value of type str"):
        executable("ab")
    with pytest.raises(ZeroDivisionError):
        executable(cell(count=1 // i) for i in (1, 0))
    assert_same(executable((CELL, cell())), want)


def test_nan_is_no_error(linked: Any) -> None:
    executable, want = linked
    nan, right = executable([cell(value=torch.full((4,), torch.nan)), CELL])
    assert nan.isnan().all()
    assert_same(right, want[0])


def test_a_list_that_contains_itself(linked: Any) -> None:
    executable, want = linked
    chain = CELL
    last = cell()
    for _ in range(100):
        chain = replace(CELL, rest=chain)
    assert last.rest is not None
    object.__setattr__(last.rest, "rest", chain)
    object.__setattr__(chain, "rest", last)
    with pytest.raises(InstanceError, match=r"instance 1, at .*\.rest: this Cell contains itself"):
        executable([CELL, chain])
    assert_same(executable([CELL, cell()]), want)


class TestDepth:
    def test_a_chain_of_3000_levels(self, built: Any) -> None:
        tree: Any = Leaf(1)
        for i in range(3000):
            tree = Node([tree]) if i % 2 else Node([tree, Leaf(i % 100)])
        executable = built("treelstm")
        (got,) = executable([tree])
        model: Any = tiny("treelstm", torch.float64)
        with torch.inference_mode():  # from the leaf up: eager recursion would be too deep
            h, c = model.leaf(model.embedding.weight[1])
            for i in range(3000):
                children = [(h, c)] if i % 2 else [(h, c), model.leaf(model.embedding.weight[i % 100])]
                h, c = model.compose(children)
            assert_same(got, model.classifier(h))

    def test_what_the_stack_cannot_hold(self, built: Any) -> None:
        levels: list[Any] = [Leaf(1)]
        for _ in range(200_000):
            levels.append(Node([levels[-1]]))
        tree = levels[-1]
        executable = built("treelstm")
        instances = draw("treelstm", 2)
        want = eager(tiny("treelstm", torch.float64), instances)
        with pytest.raises(ResourceError, match=r"instance 1.*nested too deeply.*contain itself"):
            executable([instances[0], tree])
        assert_same(executable(instances), want)
        while levels:  # from the root, so that freeing does not recurse
            del levels[-1], tree
            tree = None

    @pytest.mark.parametrize("turn", [1, 2, 7, 150])
    def test_what_contains_itself_is_found_before_the_memory_is_full(self, built: Any, turn: int) -> None:
        """Each node of the cycle has many leaves before it: reading on until the stack is full would take gigabytes."""
        leaves: list[Any] = [Leaf(1)] * (60_000 // turn)
        inner: Any = Node([*leaves])
        root = inner
        for _ in range(turn - 1):
            inner.children.append(Node([*leaves]))
            inner = inner.children[-1]
        inner.children.append(root)
        tree = root
        for _ in range(20):
            tree = Node([Leaf(2), tree])
        executable = built("treelstm", memory_limit=1 << 30)
        with pytest.raises(InstanceError, match=r"instance 1, at .*\.children\[\d+\]: this Node contains itself"):
            executable([Leaf(1), tree])
        inner.children.pop()
        instances = draw("treelstm", 2)
        assert_same(executable(instances), eager(tiny("treelstm", torch.float64), instances))

    def test_an_object_may_stand_in_several_places(self, built: Any) -> None:
        shared: Any = Leaf(3)
        for i in range(60):
            shared = Node([Leaf(i), shared])
        tree = shared
        for _ in range(60):
            tree = Node([shared, tree, shared])
        assert_same(built("treelstm")([tree, shared]), eager(tiny("treelstm", torch.float64), [tree, shared]))


def test_recursion_without_an_end(cache: Path) -> None:
    model = Endless()
    executable = compile(model, cache_folder=cache, checked=True)
    want = eager(copy.deepcopy(model).double(), [0, 4])
    with pytest.raises(ResourceError, match=r"instance 1.*(recursion may not end|memory)"):
        executable([4, 3])
    assert_same(executable([0, 4]), want)


@pytest.fixture(scope="module")
def unending(cache: Path) -> Any:
    model = Unending()
    executable = compile(model, cache_folder=cache, checked=True, memory_limit=32 << 20)
    return executable, eager(copy.deepcopy(model).double(), [0])


@pytest.mark.parametrize("kind", [1, 3, 4])
def test_loops_and_recursion_without_an_end(unending: Any, kind: int) -> None:
    executable, want = unending
    with pytest.raises(ResourceError, match=r"full: \d+ MiB .* limit is 32 MiB; .* unless a loop or recursion does not end"):
        executable([0, kind, 0])
    assert_same(executable([0]), want)


def test_waiting_recursion_ends_before_the_memory_does(cache: Path) -> None:
    model = Unending()
    executable = compile(model, cache_folder=cache, memory_limit=4 << 30)
    with pytest.raises(
        ResourceError, match=r"instance 1: calls that wait are nested more than \d+ deep: the recursion may not"
    ):
        executable([0, 4])
    assert_same(executable([0]), eager(copy.deepcopy(model).double(), [0]))


@pytest.mark.parametrize("kind", [1, 2, 3])
def test_an_interrupt_ends_a_call(unending: Any, cache: Path, kind: int) -> None:
    """The handler of the alarm raises during the compiled call, as the handler of Ctrl-C does."""
    executable, want = unending
    if kind != 2:
        executable = compile(Unending(), cache_folder=cache, memory_limit=32 << 30)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(KeyboardInterrupt):
            executable([0, kind, 0])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    if kind == 2:
        assert_same(executable([0]), want)
    else:
        assert executable([0])[0].isfinite().all()


class Broken(Item):
    def __init__(self, what: Any) -> None:
        self.what = what
        self.pair = (1, 2.0)
        self.rest = None

    @property
    def value(self) -> Tensor:  # type: ignore[override]
        value: Tensor = self.what()
        return value


class TestItems:
    """Instances whose fields run Python code when they are read."""

    @pytest.fixture(scope="class")
    def items(self, cache: Path) -> Any:
        model, item = Items(), Item(torch.ones(5), (1, 2.0))
        sample = [replace(item, rest=item), replace(item, rest=Broken(lambda: torch.ones(5))), Broken(lambda: torch.ones(5))]
        return compile(model, sample=sample, cache_folder=cache, checked=True), copy.deepcopy(model).double()

    def good(self, **changes: Any) -> Item:
        return Item(torch.arange(5.0), (2, 0.5), replace(Item(torch.ones(5), (1, 3.5)), **changes))

    @pytest.mark.parametrize(
        ("pair", "message"),
        [
            ([1, 2.0], "rest.pair: expected a tuple of 2 elements, got a value of type list"),
            ((1,), "rest.pair: expected a tuple of 2 elements, got one of 1"),
            ((1, 2.0, 3), "rest.pair: expected a tuple of 2 elements, got one of 3"),
            ((1, None), r"rest.pair\[1\]: expected a float, got None"),
            ((2**40, 1.0), "the result of integer arithmetic does not fit into 64 bits"),
            ((0, 1.0), "integer division by zero"),
            ((1, 0.0), "division by zero"),
            ((1, 1e300), r"int\(\) of 1"),
            ((1, float("nan")), r"int\(\) of nan"),
        ],
    )
    def test_pairs(self, items: Any, pair: Any, message: str) -> None:
        executable, model = items
        with pytest.raises(InstanceError, match="instance 1.*" + message):
            executable([self.good(), self.good(pair=pair)])
        assert_same(executable([self.good()]), eager(model, [self.good()]))

    def test_a_property_that_raises(self, items: Any) -> None:
        executable, model = items
        with pytest.raises(
            InstanceError, match=r"instance 0, at \.rest\.value: the field `value` of Broken raised KeyError: 'why'"
        ) as caught:
            executable([Item(torch.ones(5), (1, 2.0), Broken(lambda: dict[str, Tensor]()["why"]))])
        assert isinstance(caught.value.__cause__, KeyError)

        def interrupt() -> Tensor:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            executable([Broken(interrupt)])
        lacking = self.good()
        del lacking.pair
        with pytest.raises(InstanceError, match="a Item without its field `pair`") as caught:
            executable([lacking])
        assert isinstance(caught.value.__cause__, AttributeError)
        assert_same(executable([self.good()]), eager(model, [self.good()]))

    def test_a_property_that_makes_its_value(self, items: Any) -> None:
        executable, _ = items
        fresh = [Broken(lambda i=i: torch.full((5,), float(i))) for i in range(50)]
        kept = [Item(torch.full((5,), float(i)), (1, 2.0)) for i in range(50)]
        assert torch.equal(torch.stack(executable(fresh)), torch.stack(executable(kept)))

    def test_a_property_that_changes_the_mini_batch(self, items: Any) -> None:
        """The instances that were passed are run, even if reading one of them changes the list."""
        executable, model = items
        batch: list[Any] = []

        def change() -> Tensor:
            batch.clear()
            return torch.zeros(5)

        given = [Broken(change), *(self.good() for _ in range(200))]
        batch += given
        assert_same(executable(batch), eager(model, [Item(torch.zeros(5), (1, 2.0)), *given[1:]]))
        assert batch == []

    def test_a_property_that_calls_the_executable(self, items: Any) -> None:
        executable, model = items
        with pytest.raises(InstanceError, match="running already"):
            executable([Broken(lambda: executable([self.good()])[0])])
        assert_same(executable([self.good()]), eager(model, [self.good()]))

    def test_a_property_that_calls_another_executable(self, items: Any, unending: Any) -> None:
        executable, _ = items
        (five,) = executable([Broken(lambda: torch.cat([unending[0]([0])[0], torch.ones(1)]))])
        assert five.shape == (5,)

    @pytest.mark.parametrize("gather_fusion", [True, False])
    def test_tensors_that_end_where_memory_ends(self, cache: Path, gather_fusion: bool) -> None:
        """Kernels must not read beyond the last element."""
        model = Items()
        executable = compile(model, cache_folder=cache, checked=True, options=Options(gather_fusion=gather_fusion))
        instances = [Item(at_the_end_of_a_page(torch.full((5,), i / 20)), (1, 2.0)) for i in range(19)]
        assert_same(executable(instances), eager(copy.deepcopy(model).double(), instances))

    def test_a_tensor_at_an_odd_address(self, items: Any) -> None:
        executable, _ = items
        odd = torch.frombuffer(bytearray(21), dtype=torch.float32, offset=1)
        odd.copy_(torch.arange(5.0))
        got, want = executable([Item(odd, (1, 2.0)), Item(torch.arange(5.0), (1, 2.0))])
        assert torch.equal(got, want)


def at_the_end_of_a_page(tensor: Tensor) -> Tensor:
    """A copy of `tensor` that is followed by memory that cannot be read."""
    library = ctypes.CDLL(None)
    page = mmap.PAGESIZE
    pages = mmap.mmap(-1, 2 * page)
    start = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    assert library.mprotect(ctypes.c_void_p(start + page), ctypes.c_size_t(page), 0) == 0
    copied = torch.frombuffer(pages, dtype=torch.float32, count=tensor.numel(), offset=page - 4 * tensor.numel())
    return copied.copy_(tensor.reshape(-1)).reshape(tensor.shape)


def test_a_closed_executable(cache: Path) -> None:
    executable = compile(Unending(), cache_folder=cache)
    executable.close()
    executable.close()
    for use in (executable, executable.schedule):
        with pytest.raises(RuntimeError, match="was closed; compile the model again"):
            use([0])
    with pytest.raises(RuntimeError, match="was closed"):
        executable.counters()


@pytest.mark.parametrize("wrong", [{"threads": 0}, {"memory_limit": 0}])
def test_threads_and_memory_are_positive(cache: Path, wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(wrong))}=0.* must be at least 1"):
        compile(Unending(), cache_folder=cache, **wrong)


def test_memory_has_a_limit(built: Any) -> None:
    limit = 4 << 20
    executable = built("treelstm", memory_limit=limit)
    small = draw("treelstm", 2)
    want = eager(tiny("treelstm", torch.float64), small)
    big = Node([Leaf(i % 100) for i in range(60_000)])
    for _ in range(2):
        with pytest.raises(ResourceError, match=r"\d+ MiB are in use, \d+ MiB more .* limit is 4 MiB; .*memory_limit"):
            executable([big])
        assert_same(executable(small), want)


def test_all_memory_up_to_the_limit_can_be_used(built: Any) -> None:
    """Each block of an arena is as large as all before it together, but not beyond the limit."""
    many = draw("treelstm", 40) * 65
    executable = built("treelstm", memory_limit=1 << 30, options=Options(wave=0))
    want = executable(many)
    executable(many)  # in one block
    needed = (int(executable.counters()["tensor_bytes"]) >> 20) + 2
    power = 1 << needed.bit_length() - 1
    assert 4 <= power + 2 < needed < 2 * power - 2, (
        "take another number of instances: blocks have to end far from a power of two"
    )
    limited = built("treelstm", memory_limit=needed << 20, options=Options(wave=0))
    assert all(map(torch.equal, limited(many), want))


def test_checked_mode_catches_a_wrong_depth(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(program: Program, options: Options) -> Schedule:
        lets = [(name, node) for name, f in program.functions.items() for node in walk(f.body) if isinstance(node, Let)]
        # All work is said to depend on the instance alone.
        static = {(name, let.var.name): 0 for name, let in lets if isinstance(let.value, Launch)}
        return lower(program, replace(facts_for(program, options), static_depth=static))

    monkeypatch.setattr(builds, "schedule_of", wrong)
    executable = compile(tiny("treelstm"), cache_folder=cache / "wrong", checked=True)
    with pytest.raises(ScheduleError, match="scheduled before one of its operands was computed"):
        executable([Node([Node([Leaf(1), Leaf(2)]), Leaf(3)])])
