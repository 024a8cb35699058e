"""A module that is changed after it was compiled is noticed at the next call, and new weights are taken over by `load`."""

from __future__ import annotations

import copy
import gc
import sys
import weakref
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, ClassVar

import psutil
import pytest
import torch
from torch import Tensor, nn

from backends.acrobat import compile
from backends.acrobat.errors import ModuleChanged

SCALE = 2.0
SIZES = [1, 2]


class Settings:
    offset = 1.0


class Part(nn.Module):
    def __init__(self, k: int) -> None:
        super().__init__()
        self.k = k
        self.layer = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(self.layer(x)) * self.k


class Model(nn.Module):
    """A model that depends on everything that can be changed after compilation."""

    limit = 3
    limits: ClassVar = {"low": 1.0}

    order: Tensor
    shift: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.k = 2
        self.sizes = [1, 2]
        self.weights: dict[str, Any] = {"first": 1.0, "more": [0.5]}
        self.steps = {1, 2}
        self.ranks = OrderedDict(low=1.0, high=2.0)
        self._half = 0.5
        self.zero = 0.0
        self.more: int | None = None
        self.unused = 7
        self.table = nn.Embedding(20, 4)
        self.parts = nn.ModuleList([Part(1), Part(1), Part(2)])
        self.norm = nn.LayerNorm(4)
        self.drop = nn.Dropout()
        self.spare = nn.Linear(2, 2)
        self.register_buffer("shift", torch.zeros(4))
        self.register_buffer("order", torch.tensor([3, 1]))

    @property
    def share(self) -> float:
        return self._half

    def forward(self, words: list[int]) -> Tensor:
        total = self.shift
        for word in words:
            x = self.table.weight[word]
            for part in self.parts:
                x = part(x)
            total = total + self.drop(self.norm(x))
        return self.scaled(total)

    def scaled(self, x: Tensor) -> Tensor:
        n = self.order[0].item() + self.limit
        for size in self.sizes:
            n = n + size
        for size in SIZES:
            n = n + size
        if self.more is not None:
            n = n + self.more
        n = n + self.weights["first"] + self.weights["more"][0] + self.limits["low"] + (1 if 3 in self.steps else 0)
        for rank in self.ranks.values():
            n = n * rank + 1
        return x * self.k * SCALE * self.share + n + Settings.offset + self.zero


INSTANCES = [[1, 2, 3], [], [19]]


def right(executable: Any, model: nn.Module) -> None:
    with torch.no_grad():
        for got, words in zip(executable(INSTANCES), INSTANCES, strict=True):
            torch.testing.assert_close(got, model(words), rtol=1e-4, atol=1e-5)


@pytest.fixture
def compiled(cache: Path) -> tuple[Any, Any]:
    torch.manual_seed(3)
    model = Model().eval()
    executable = compile(model, cache_folder=cache)
    right(executable, model)
    return model, executable


def trained(model: Any) -> dict[str, Tensor]:
    return {k: t + 1 if t.is_floating_point() else t for k, t in model.state_dict().items()}


def other_memory(model: Any) -> None:
    model.norm.bias.data = torch.ones(4)


def inference(model: Any) -> None:
    with torch.inference_mode():
        model.shift = torch.ones(4)


WEIGHTS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "load_state_dict": (lambda m: m.load_state_dict(trained(m)), "was changed in place"),
    "load_state_dict, assigned": (lambda m: m.load_state_dict(trained(m), assign=True), "is another tensor"),
    "copy_": (lambda m: m.norm.bias.detach().copy_(torch.ones(4)), "`norm.bias` was changed in place"),
    "mul_": (lambda m: m.parts[1].layer.weight.detach().mul_(2), "`parts.1.layer.weight` was changed in place"),
    "data.mul_": (lambda m: m.parts[1].layer.weight.data.mul_(2), "values of `parts.1.layer.weight` were changed"),
    "data.mul_ of a vector": (lambda m: m.norm.weight.data.mul_(2), "values of `norm.weight` were changed"),
    "data, one element": (
        lambda m: m.parts[1].layer.weight.data.view(-1)[1].fill_(9.0),
        "values of `parts.1.layer.weight` were changed",
    ),
    "data": (other_memory, "`norm.bias` lies elsewhere in memory"),
    "numpy": (lambda m: m.norm.bias.detach().numpy().fill(4.0), "values of `norm.bias` were changed"),
    "numpy, one element": (
        lambda m: m.table.weight.detach().numpy()[1:2, 1].fill(9.0),
        "values of `table.weight` were changed",
    ),
    "a new parameter": (lambda m: setattr(m.norm, "bias", nn.Parameter(torch.ones(4))), "`norm.bias` is another tensor"),
    "a buffer": (lambda m: m.shift.add_(1), "`shift` was changed in place"),
    "a new buffer": (lambda m: setattr(m, "shift", torch.ones(4)), "`shift` is another tensor"),
    "a buffer of inference mode": (inference, "`shift` is another tensor"),
    "a replaced submodule": (lambda m: setattr(m, "norm", nn.LayerNorm(4)), "is another tensor"),
    "an optimiser's step": (
        lambda m: (m(words).sum().backward() for words in [[1]]).__next__() or torch.optim.SGD(m.parameters(), 1.0).step(),
        "was changed in place",
    ),
}


@pytest.mark.parametrize("how", WEIGHTS)
def test_changed_weights_are_noticed_and_loaded(compiled: tuple[Any, Any], how: str) -> None:
    model, executable = compiled
    change, message = WEIGHTS[how]
    change(model)
    for _ in range(2):
        with pytest.raises(ModuleChanged, match=rf"{message}.*call executable.load\(module\)"):
            executable(INSTANCES)
    executable.load(model)
    right(executable, model)
    right(executable, model)


class Wide(nn.Module):
    """More small weights than a call looks through as a whole: 16 of 1 KiB, and a transposed one."""

    def __init__(self) -> None:
        super().__init__()
        self.large = nn.Parameter(torch.ones(257))
        self.turned = nn.Parameter(torch.zeros(5, 4).t())
        self.small = nn.ParameterList([nn.Parameter(torch.zeros(256)) for _ in range(16)])

    def forward(self, x: Annotated[Tensor, 256]) -> Tensor:
        for each in self.small:
            x = x + each
        return x * self.large.sum() + self.turned.sum()


def test_which_elements_of_weights_a_call_looks_at(cache: Path) -> None:
    """All of small weights up to 16 KiB in all, and eight of every other: LANGUAGE.md tells this limit."""
    model = Wide().eval()
    executable = compile(model, cache_folder=cache)
    x = torch.ones(256)
    weights = dict(model.named_parameters())
    for name, element, noticed in (
        ("turned", (0, 1), True),
        ("small.0", (1,), True),
        ("small.14", (1,), True),
        ("small.15", (1,), False),
        ("small.15", (255,), True),
        ("large", (1,), False),
        ("large", (256,), True),
    ):
        (before,) = executable([x])
        weights[name].data[element] = 9.0
        if noticed:
            with pytest.raises(ModuleChanged, match=rf"values of `{name}` were changed"):
                executable([x])
        else:
            assert torch.equal(executable([x])[0], before), name
        executable.load(model)
        with torch.no_grad():
            torch.testing.assert_close(executable([x])[0], model(x), rtol=1e-4, atol=1e-5)


def patched(self: Any, x: Tensor) -> Tensor:
    return x


def hook_all(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(torch.nn.modules.module._global_forward_hooks, 0, lambda *_: None)


CHANGES: dict[str, tuple[Callable[[Any, pytest.MonkeyPatch], Any], str]] = {
    "attribute": (lambda m, p: setattr(m, "k", 3), "`k` was 2 when it was compiled and is 3"),
    "attribute's type": (lambda m, p: setattr(m, "k", 2.0), "`k` was 2 when it was compiled and is 2.0"),
    "sign of zero": (lambda m, p: setattr(m, "zero", -0.0), "`zero` was 0.0 when it was compiled and is -0.0"),
    "None": (lambda m, p: setattr(m, "more", 5), "`more` was None when it was compiled and is 5"),
    "attribute of one of equal modules": (lambda m, p: setattr(m.parts[1], "k", 5), "`parts.1.k` was 1 .* is 5"),
    "list": (lambda m, p: m.sizes.append(3), r"`sizes` was \[1, 2\] when it was compiled and is \[1, 2, 3\]"),
    "list's element": (lambda m, p: m.sizes.__setitem__(1, 5), r"`sizes` was .* is \[1, 5\]"),
    "dictionary": (lambda m, p: m.weights.update(first=2.0), r"`weights` was \{'first': 1.0, .* and is \{'first': 2.0"),
    "dictionary of the class": (lambda m, p: p.setitem(Model.limits, "low", 2.0), "`limits` was .* is {'low': 2.0}"),
    "list in a dictionary": (lambda m, p: m.weights["more"].append(1.0), r"`weights` .*'more': \[0.5\]\} .*\[0.5, 1.0\]"),
    "order of a dictionary": (lambda m, p: m.ranks.move_to_end("low"), r"`ranks` was \{'low': .* is \{'high': 2.0, 'low'"),
    "set": (lambda m, p: m.steps.add(3), r"`steps` was \{1, 2\} when it was compiled and is \{1, 2, 3\}"),
    "hook for all modules": (lambda m, p: hook_all(p), "the hooks for all modules was 0 when it was compiled and is 1"),
    "class attribute": (lambda m, p: p.setattr(Model, "limit", 4), "`limit` was 3 when it was compiled and is 4"),
    "instance over class": (lambda m, p: setattr(m, "limit", 4), "`limit` was 3 when it was compiled and is 4"),
    "property": (lambda m, p: setattr(m, "_half", 0.25), "`share` was 0.5 when it was compiled and is 0.25"),
    "method": (lambda m, p: p.setattr(Model, "scaled", patched), "`scaled` was Model.scaled .* is patched"),
    "patched method": (lambda m, p: setattr(m, "scaled", patched), "`scaled`"),
    "patched forward": (lambda m, p: setattr(m.parts[0], "forward", lambda x: x), "`parts.0.forward`"),
    "global": (lambda m, p: p.setattr(sys.modules[__name__], "SCALE", 4.0), "`SCALE`, which `Model.scaled` uses, was 2.0"),
    "global list": (lambda m, p: p.setattr(sys.modules[__name__], "SIZES", [9, 2]), "`SIZES`, which .* is .9, 2."),
    "attribute of a global": (lambda m, p: p.setattr(Settings, "offset", 4.0), "`Settings.offset` was 1.0 .* is 4.0"),
    "training": (lambda m, p: m.train(), "`drop.training` was False when it was compiled and is True"),
    "module's constant": (lambda m, p: setattr(m.norm, "eps", 1.0), "`norm.eps` was 1e-05 .* is 1.0"),
    "another class": (lambda m, p: setattr(m, "norm", nn.Identity()), "`norm` was LayerNorm .* is Identity"),
    "longer": (lambda m, p: m.parts.append(Part(1)), "the length of `parts` was 3 .* is 4"),
    "integers": (lambda m, p: m.order.fill_(5), "the constant `order`"),
    "hook": (lambda m, p: m.norm.register_forward_hook(lambda *_: None), "the hooks of `norm` was 0 .* is 1"),
    "half": (lambda m, p: m.half_precision(), "the dtype of .* was torch.float32 .* is torch.float16"),
    "shape": (lambda m, p: setattr(m.table, "weight", nn.Parameter(torch.ones(30, 4))), "the shape of `table.weight`"),
    "tied": (lambda m, p: setattr(m.parts[0].layer, "weight", m.parts[1].layer.weight), "tied"),
}
Model.half_precision = lambda self: nn.Module.half(self)  # type: ignore[attr-defined]


@pytest.mark.parametrize("how", CHANGES)
def test_changes_that_need_a_compilation(compiled: tuple[Any, Any], how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, executable = compiled
    change, message = CHANGES[how]
    change(model, monkeypatch)
    for _ in range(2):
        with pytest.raises(ModuleChanged, match=rf"{message}.*call compile\(module\) again"):
            executable(INSTANCES)
    with pytest.raises(ModuleChanged, match=rf"needs a compilation of its own, compile\(module\): .*{message}"):
        executable.load(model)


HARMLESS: dict[str, Callable[[Any], Any]] = {
    "nothing": lambda m: None,
    "an equal attribute": lambda m: setattr(m, "sizes", [1, 2]),
    "an equal dictionary": lambda m: setattr(m, "weights", {"first": 1.0, "more": [0.5]}),
    "an order that is as it was again": lambda m: (m.ranks.move_to_end("low"), m.ranks.move_to_end("high")),
    "a dictionary that is as it was again": lambda m: (m.weights.update(first=3.0), m.weights.update(first=1.0)),
    "an attribute that is not read": lambda m: setattr(m, "unused", 8),
    "a weight that is not used": lambda m: m.spare.weight.data.mul_(2),
    "a class attribute that is not read": lambda m: setattr(Model, "other", object()),
    "gradients": lambda m: m([1]).sum().backward(),
    "requires_grad": lambda m: m.requires_grad_(False),
    "a mode that changes nothing": lambda m: m.norm.train(),
}


@pytest.mark.parametrize("how", HARMLESS)
def test_what_changes_no_result_is_no_error(compiled: tuple[Any, Any], how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, executable = compiled
    HARMLESS[how](model)
    right(executable, model)
    monkeypatch.setattr(executable._first, "watch_unchanged", None)  # the next call compares no values
    right(executable, model)


def test_changes_are_noticed_after_others_of_the_same_dictionary(compiled: tuple[Any, Any]) -> None:
    """A call looks up again what a dictionary has once an entry of it has changed; the next call knows it from this one."""
    model, executable = compiled
    for unused in (8, 9):
        for m in (model, model.norm, model.parts[1]):
            m.unused = unused
            m._parameters[f"unused {unused}"] = None
        right(executable, model)
    for namespace, name in ((vars(model), "k"), (vars(model.parts[1]), "k"), (model.norm._parameters, "bias")):
        before = namespace.pop(name)
        for _ in range(2):
            with pytest.raises(ModuleChanged):
                executable(INSTANCES)
        namespace[name] = before
        right(executable, model)
        right(executable, model)


def test_another_module_is_loaded(compiled: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is compiled or built for that, and nothing that was built is looked up."""
    model, executable = compiled
    other = Model().eval()
    before = executable(INSTANCES)
    kept = [t.clone() for t in before]

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("load has begun to compile")

    with monkeypatch.context() as patch:
        for function in ("compiler.translated", "compiler.cached", "codegen.build.run_compiler"):
            patch.setattr(f"backends.acrobat.{function}", refuse)
        with pytest.raises(AssertionError, match="load has begun to compile"):
            compile(other)
        executable.load(other)
    right(executable, other)
    torch.testing.assert_close(before, kept)
    with torch.no_grad():
        model.norm.weight.mul_(2)  # the executable does not use these weights any more
    right(executable, other)
    other.norm.weight.data.mul_(2)
    with pytest.raises(ModuleChanged, match=r"values of `norm\.weight`"):
        executable(INSTANCES)


def test_a_copy_of_the_module_is_loaded_in_float64_not(compiled: tuple[Any, Any]) -> None:
    model, executable = compiled
    with pytest.raises(ModuleChanged, match=r"the dtype of .* was torch.float32 when it was compiled and is torch.float64"):
        executable.load(copy.deepcopy(model).double())
    right(executable, model)


def test_the_module_is_not_kept_alive(compiled: tuple[Any, Any], cache: Path) -> None:
    model = Model().eval()
    executable = compile(model, cache_folder=cache)
    with torch.no_grad():
        want = model([3])
    gone, weight = weakref.ref(model), weakref.ref(model.table.weight)
    del model
    gc.collect()
    assert gone() is None and weight() is None
    torch.testing.assert_close(executable([[3]])[0], want, rtol=1e-4, atol=1e-5)


class Scope(nn.Module):
    """Base of a class that is defined in a function, and whose method reads a variable of that function."""


def scoped() -> tuple[type[nn.Module], Callable[[int], None]]:
    factor = 2

    class Inner(Scope):
        def forward(self, x: Annotated[Tensor, 2]) -> Tensor:
            return x * factor

    def change(value: int) -> None:
        nonlocal factor
        factor = value

    return Inner, change


def test_closure_values(cache: Path) -> None:
    cls, change = scoped()
    model = cls()
    executable = compile(model, cache_folder=cache)
    assert executable([torch.ones(2)])[0].tolist() == [2.0, 2.0]
    change(3)
    with pytest.raises(ModuleChanged, match=r"`factor`, which `.*Inner.forward` uses, was 2 when it was compiled and is 3"):
        executable([torch.ones(2)])


def test_loads_leave_nothing(compiled: tuple[Any, Any]) -> None:
    model, executable = compiled
    other = Model().eval()

    def load(times: int) -> None:
        for _ in range(times):
            executable.load(other)
            executable.load(model)
            executable(INSTANCES)

    load(30)
    gc.collect()
    counted = [model, other, model.norm.weight, vars(model), Model, executable]
    objects, references = len(gc.get_objects()), [sys.getrefcount(o) for o in counted]
    blocks, resident = sys.getallocatedblocks(), psutil.Process().memory_info().rss
    load(150)
    gc.collect()
    assert psutil.Process().memory_info().rss - resident < 4 << 20
    assert sys.getallocatedblocks() - blocks < 150  # of 300 loads
    assert [sys.getrefcount(o) for o in counted] == references
    assert len(gc.get_objects()) - objects < 20
    right(executable, model)


class Loading:
    """An instance whose conversion to an int loads weights."""

    def __init__(self, executable: Any, model: nn.Module) -> None:
        self.executable, self.model = executable, model

    def __index__(self) -> int:
        self.executable.load(self.model)
        return 1


def test_loading_during_a_call(compiled: tuple[Any, Any]) -> None:
    model, executable = compiled
    with pytest.raises(Exception, match="instance 0") as error:
        executable([[Loading(executable, model)]])
    del error
    right(executable, model)


class WithScale(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.randn(3))

    @property
    def scale(self) -> Tensor:
        return self.bias * 2

    def forward(self, xs: list[int]) -> Tensor:
        return self.scale * len(xs)


def test_a_property_that_computes_a_tensor_of_weights_is_no_constant(cache: Path) -> None:
    model = WithScale().eval()
    executable = compile(
        model, sample=[[1, 2], [3]], cache_folder=cache
    )  # with gradients, and so a tensor with another `grad_fn`
    with torch.no_grad():
        torch.testing.assert_close(executable([[1, 2]])[0], model([1, 2]))
    WithScale.scale = property(lambda self: self.bias)  # type: ignore[assignment,method-assign]
    with pytest.raises(ModuleChanged, match=r"`WithScale\.scale` was"):
        executable([[1, 2]])
