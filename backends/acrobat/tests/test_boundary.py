"""Tensors that pass from Python to the executable: every kind of tensor, as an instance and as a weight, is read as eager
PyTorch reads it, or refused by name."""

from __future__ import annotations

import copy
import gc
import pickle
import subprocess
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any

import pytest
import torch
from torch import Tensor, nn

from backends.acrobat import compile
from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.options import Options

ROOT = Path(__file__).resolve().parents[3]


class Affine(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x: Annotated[Tensor, 3]) -> Tensor:
        return self.layer(x)


class Plain(torch.Tensor):
    """A subclass that changes nothing."""


class Zeros(torch.Tensor):
    """A subclass whose operations all give zeros."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return torch.zeros(3)


class Wrapper(torch.Tensor):
    """A subclass without memory."""

    @staticmethod
    def __new__(cls, like: Tensor) -> Any:
        return torch.Tensor._make_wrapper_subclass(cls, like.shape, dtype=like.dtype)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        raise NotImplementedError


def fake() -> Tensor:
    from torch._subclasses import FakeTensorMode

    return FakeTensorMode().from_tensor(torch.ones(3))


def complexes() -> Tensor:
    return torch.complex(torch.tensor([1.0, -2.0, 0.5]), torch.tensor([3.0, 0.25, -4.0]))


READ: dict[str, Callable[[], Tensor]] = {
    "conjugated, imaginary part": lambda: complexes().conj().imag,
    "conjugated, real part": lambda: complexes().conj().real,
    "negated, contiguous": lambda: torch._neg_view(torch.tensor([1.0, -2.0, 3.0])),
    "negated, strided": lambda: torch._neg_view(torch.arange(6.0))[::2],
    "needs a gradient": lambda: torch.ones(3, requires_grad=True),
    "parameter": lambda: nn.Parameter(torch.arange(3.0)),
    "subclass": lambda: torch.arange(3.0).as_subclass(Plain),
    "flipped and expanded": lambda: torch.arange(2.0)[:1].expand(3),
}
REFUSED: dict[str, tuple[Callable[[], Tensor], str]] = {
    "operations": (lambda: torch.ones(3).as_subclass(Zeros), "the class Zeros, which changes what operations do"),
    "wrapper": (lambda: Wrapper(torch.ones(3)), "the class Wrapper, which changes what operations do"),
    "fake": (fake, "the class FakeTensor, which changes what operations do"),
    "zero tensor": (lambda: torch._efficientzerotensor(3), "whose memory cannot be read"),
    "sparse": (lambda: torch.ones(3).to_sparse(), "whose memory cannot be read"),
    "meta": (lambda: torch.ones(3, device="meta"), "whose memory cannot be read"),
    "half": (lambda: torch.ones(3).half(), "another dtype"),
}


@pytest.fixture(scope="module")
def affine(cache: Path) -> tuple[Affine, Any]:
    model = Affine()
    return model, compile(model, cache_folder=cache)


@pytest.mark.parametrize("kind", READ)
def test_instances_are_read_as_eager_reads_them(affine: tuple[Affine, Any], kind: str) -> None:
    model, executable = affine
    instance = READ[kind]()
    (got,) = executable([instance])
    torch.testing.assert_close(got, model(instance).detach().as_subclass(Tensor))


@pytest.mark.parametrize("kind", REFUSED)
def test_instances_that_cannot_be_read_are_refused(affine: tuple[Affine, Any], kind: str) -> None:
    make, message = REFUSED[kind]
    with pytest.raises(InstanceError, match=f"instance 1: .*{message}"):
        affine[1]([torch.ones(3), make()])


def test_instances_within_transforms_are_refused(affine: tuple[Affine, Any]) -> None:
    executable = affine[1]
    with pytest.raises(InstanceError, match="within a transform"):
        torch.vmap(lambda x: executable([x])[0])(torch.ones(2, 3))
    with pytest.raises(InstanceError, match="within a transform"):
        torch.func.grad(lambda x: executable([x])[0].sum())(torch.ones(3))


def test_negated_weights(cache: Path) -> None:
    model = Affine()
    model.layer.weight = nn.Parameter(torch._neg_view(model.layer.weight.detach().clone()))
    model.layer.bias = nn.Parameter(complexes().conj().imag)
    assert model.layer.bias.is_neg()
    (got,) = compile(model, cache_folder=cache)([torch.ones(3)])
    torch.testing.assert_close(got, model(torch.ones(3)).detach())


class Scaled(nn.Module):
    """A model that uses all its tensors."""

    def __init__(self, scale: Any) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.register_buffer("scale", scale)

    def forward(self, x: Annotated[Tensor, 3]) -> Tensor:
        return self.layer(x) * self.scale


def problem(model: nn.Module, cache: Path) -> str:
    with pytest.raises(CompileError) as error:
        compile(model, cache_folder=cache)
    assert len(error.value.problems) == 1
    return error.value.problems[0].message


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_other_precisions_are_refused_by_name(cache: Path, dtype: torch.dtype) -> None:
    name = str(dtype).removeprefix("torch.")
    message = f"is a {name} tensor, and models are compiled in float32 only: call `.float()` on the model first"
    assert problem(Affine().to(dtype), cache) == f"`layer.weight` {message}"
    mixed = Affine()
    mixed.layer.bias = nn.Parameter(mixed.layer.bias.detach().to(dtype))
    assert problem(mixed, cache) == f"`layer.bias` {message}"
    assert problem(Scaled(torch.ones(3, dtype=dtype)), cache) == f"`scale` {message}"


@pytest.mark.parametrize(
    ("scale", "message"),
    [
        (lambda: torch.ones(3, dtype=torch.int16), "`scale` is an int16 tensor, of which only values can be read"),
        (lambda: torch.ones(3, device="meta"), "`scale` has no values"),
        (lambda: torch.ones(3).to_sparse(), "`scale` has the layout sparse_coo: make it dense"),
        (lambda: complexes(), "`scale` is complex"),
        (lambda: torch.ones(3).as_subclass(Zeros), "`scale` is of the class Zeros, which changes"),
    ],
)
def test_weights_that_cannot_be_operands_are_refused_by_name(cache: Path, scale: Callable[[], Tensor], message: str) -> None:
    assert problem(Scaled(scale()), cache).startswith(message)


class Unused(nn.Module):
    """Has tensors that `forward` does not use: an int64 counter of its normalisation, and a float64 buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.norm = nn.BatchNorm1d(3)
        self.register_buffer("log", torch.zeros(4, dtype=torch.float64))

    def forward(self, x: Annotated[Tensor, 3]) -> Tensor:
        return self.layer(x)


def test_tensors_that_are_not_used_may_be_anything(cache: Path) -> None:
    model = Unused()
    (got,) = compile(model, cache_folder=cache)([torch.ones(3)])
    torch.testing.assert_close(got, model(torch.ones(3)).detach())


class Constants(nn.Module):
    """Reads values of tensors that are not float32, which float32 could not represent."""

    t: Tensor
    grid: Tensor
    small: Tensor
    flags: Tensor
    step: Tensor
    third: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(4, 3)
        self.register_buffer("t", torch.tensor([16777217, 5]))
        self.register_buffer("grid", torch.tensor([[1, 2], [3, 2**62 + 1]]))
        self.register_buffer("small", torch.tensor([200, 3], dtype=torch.uint8))
        self.register_buffer("flags", torch.tensor([True, False]))
        self.register_buffer("step", torch.tensor(0.1, dtype=torch.float64))
        self.register_buffer("third", torch.tensor([1 / 3], dtype=torch.float16))

    def forward(self, x: Annotated[Tensor, 3]) -> tuple[list[int], list[float], list[bool], Tensor, Tensor]:
        ints = [int(self.t[0].item()) % 2, int(self.t[1]), self.grid[1, -1].item() // 2, self.small[0].item()]
        shapes = [len(self.t), self.grid.shape[1], self.grid.size(0), self.grid[1].numel(), self.grid.dim()]
        floats = [self.step.item() * 3, float(self.third)]
        flags = [bool(self.flags[0]), self.step.item() == 0.1]
        y = x
        if self.flags[1]:
            y = x + 1
        row = self.table.weight[self.grid[0, 1]] + self.table(self.grid[0, 0])
        return ints + shapes, floats, flags, y, row  # type: ignore[return-value]


def test_integers_booleans_and_doubles_keep_their_values(cache: Path) -> None:
    model = Constants()
    (got,) = compile(model, cache_folder=cache, checked=True)([torch.ones(3)])
    with torch.no_grad():
        want = model(torch.ones(3))
    assert got[:3] == want[:3]
    torch.testing.assert_close(got[3:], want[3:])


class Pick(nn.Module):
    k: Tensor

    def __init__(self, k: int) -> None:
        super().__init__()
        self.register_buffer("k", torch.tensor([k]))

    def forward(self, x: Annotated[Tensor, 3]) -> Tensor:
        return x * self.k[0].item()


class Two(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.ModuleList([Pick(2), Pick(3), Pick(2)])

    def forward(self, x: Annotated[Tensor, 3]) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x


def test_modules_that_differ_in_constants_are_compiled_apart(cache: Path) -> None:
    (got,) = compile(Two(), cache_folder=cache)([torch.ones(3)])
    assert got.tolist() == [12.0] * 3


class Lookup(nn.Module):
    t: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("t", torch.arange(3))

    def forward(self, i: int) -> int:
        return self.t[i].item()  # type: ignore[return-value]


def test_a_constant_of_ints_is_indexed_at_run_time(cache: Path) -> None:
    executable = compile(Lookup(), cache_folder=cache)
    assert executable([2, 0, -1]) == [2, 0, 2]
    with pytest.raises(InstanceError, match=r"instance 1: .*index"):
        executable([0, 3])


# ---- the executable as a Python object


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_an_executable_is_not_duplicated(affine: tuple[Affine, Any], duplicate: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError, match=r"an executable cannot be copied or pickled: .* call compile\(module\) again"):
        duplicate(affine[1])


def test_closing(cache: Path) -> None:
    model = Affine()
    executable = compile(model, cache_folder=cache)
    executable.close()
    executable.close()
    with pytest.raises(RuntimeError, match="closed; compile the model again"):
        executable([torch.ones(3)])
    with pytest.raises(RuntimeError, match="closed; compile the model again"):
        executable.counters()
    with pytest.raises(RuntimeError, match="closed; compile the model again"):
        executable.schedule([torch.ones(3)])
    del executable
    gc.collect()


class Closing:
    """An instance whose conversion to an int closes the executable that reads it."""

    def __init__(self, executable: Any) -> None:
        self.executable = executable

    def __index__(self) -> int:
        self.executable.close()
        return 1


class Count(nn.Module):
    def forward(self, n: int) -> int:
        return n + 1


def test_closing_during_a_call(cache: Path) -> None:
    executable = compile(Count(), cache_folder=cache)
    with pytest.raises(InstanceError, match="instance 0") as error:
        executable([Closing(executable)])
    del error
    assert executable([3]) == [4]


AT_EXIT = """
import sys
import threading
from pathlib import Path
import torch
from backends.acrobat import compile
from backends.acrobat.tests.test_boundary import Affine
class Keeper:
    def __init__(self, executable):
        self.executable = executable
    def __del__(self):
        assert len(self.executable([torch.ones(3)])) == 1
        self.executable.close()
        self.executable.close()
keeper = Keeper(compile(Affine(), cache_folder=Path(sys.argv[1]), threads=2))
sys.modules["kept"] = keeper
other = compile(Affine(), cache_folder=Path(sys.argv[1]), threads=2)
other([torch.ones(3)])
cycle = [compile(Affine(), cache_folder=Path(sys.argv[1]))]
cycle.append(cycle)
"""


def test_executables_that_live_until_the_interpreter_ends(cache: Path) -> None:
    ended = subprocess.run([sys.executable, "-c", AT_EXIT, str(cache)], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert (ended.returncode, ended.stderr) == (0, "")


# ---- threads


class Slow(nn.Module):
    """Is called with instances whose conversion to an int lets other threads run (`Meeting`)."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, n: int) -> Tensor:
        x = torch.zeros(3)
        for _ in range(n):
            x = torch.tanh(self.layer(x))
        return x


class Meeting:
    """A number whose conversion waits until all threads are converting one."""

    def __init__(self, barrier: threading.Barrier, value: int) -> None:
        self.barrier, self.value = barrier, value

    def __index__(self) -> int:
        self.barrier.wait(60)
        return self.value


def test_threads_call_one_executable_at_the_same_time(cache: Path) -> None:
    """Four calls run at the same time, each with instances of its own. Errors and counters are those of the calling thread, and
    all threads see new weights."""
    model = Slow()
    executable = compile(model, cache_folder=cache, checked=True)
    threads = 4

    def together() -> list[tuple[list[Tensor], float]]:
        barrier = threading.Barrier(threads)

        def work(i: int) -> tuple[list[Tensor], float]:
            results = executable([i, Meeting(barrier, 3 * i + 1), 2])
            return results, executable.counters()["nodes"]

        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(work, range(threads)))

    for _ in range(2):
        nodes = []
        for i, (results, count) in enumerate(together()):
            with torch.no_grad():
                for got, n in zip(results, (i, 3 * i + 1, 2), strict=True):
                    torch.testing.assert_close(got, model(n))
            nodes.append(count)
        assert nodes == sorted(set(nodes))  # each thread has other instances
        with torch.no_grad():
            model.layer.weight.mul_(-1)
        executable.load(model)

    barrier = threading.Barrier(2)
    with ThreadPoolExecutor(2) as pool:
        good = pool.submit(executable, [Meeting(barrier, 1)])
        bad = pool.submit(executable, [Meeting(barrier, 1), "x"])
        assert len(good.result()) == 1
        with pytest.raises(InstanceError, match="instance 1: expected an int"):
            bad.result()
    executable.close()
    with pytest.raises(RuntimeError, match="closed"):
        executable([1])


def seven() -> int:
    return 7


class LooksUpMissing(nn.Module):
    def forward(self, ds: Any) -> Any:
        return ds[0][1] + ds[1][1] + ds[2][1]


def test_dictionaries_with_other_values_for_missing_keys(cache: Path, codegen: Any) -> None:
    good: list[Any] = [defaultdict(int, {0: 3}), Counter([5]), defaultdict(seven, {4: 3})]
    executable = compile(LooksUpMissing(), sample=[tuple(good)], options=Options(codegen=codegen), cache_folder=cache)
    assert executable([tuple(good), (defaultdict(int, {1: 2}), Counter([1]), defaultdict(seven))]) == [7, 10]
    for i, other, message in (
        (0, {0: 1}, r"expected a defaultdict\(int\), got a dict of 0"),
        (0, defaultdict(float), r"expected a defaultdict\(int\), got a dict"),
        (1, {0: 1}, "expected a Counter, got a dict of 0"),
        (2, defaultdict(lambda: 6), r"expected a defaultdict\(.*\.seven:\d+\), got a dict"),
    ):
        with pytest.raises(InstanceError, match=message):
            executable([(*good[:i], other, *good[i + 1 :])])
