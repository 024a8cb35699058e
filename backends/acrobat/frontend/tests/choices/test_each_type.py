"""Values of several types that one computes with, in one place: tensors of several ranks, and numbers beside them."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn

from backends.acrobat.compiler import compile
from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

WIDTH = 4


def objects(count: int) -> Tensor:
    return torch.randn(count, WIDTH, generator=torch.Generator().manual_seed(count))


@dataclass
class Answer:
    kind: str
    data: Tensor


class Programs(nn.Module):
    """Programs over the objects of a scene, as they answer questions about an image: the stack holds attention over objects,
    scores and vectors."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.concepts = nn.Embedding(5, WIDTH)
        self.answer = nn.Linear(WIDTH, 3)
        self.compare = nn.Linear(2, 3)

    def forward(self, question):
        scene, program = question
        stack = []
        for op, arg in program:
            if op == "scene":
                stack.append(torch.ones(scene.size(0)))
            elif op == "filter":
                stack.append(stack.pop() * torch.sigmoid(scene @ self.concepts.weight[arg]))
            elif op == "count":
                stack.append(stack.pop().sum())
            elif op == "most":
                stack.append(stack.pop().max(dim=0).values)
            elif op == "query":
                stack.append(stack.pop() @ scene)
            elif op == "greater":
                other, one = stack.pop(), stack.pop()
                stack.append(torch.sigmoid(one - other))
            elif op == "skip" and stack[-1] > 0.5:
                break
        top = stack.pop()
        if top.dim() == 0:
            return self.compare(torch.stack([top, 1 - top]))
        return self.answer(top)


COUNT = [("scene", 0), ("filter", 3), ("count", 0)]
QUESTIONS = [
    (objects(3), [("scene", 0), ("filter", 1), ("count", 0)]),
    (objects(4), [("scene", 0), ("filter", 2), ("query", 0)]),
    (objects(5), [*COUNT, ("skip", 0), *COUNT, ("greater", 0)]),
    (objects(1), [("scene", 0), ("filter", 2), ("most", 0)]),
]


def tree_of_modules(self, question):
    """A neural module network: results of modules are attention, scores and vectors, which other modules take."""

    def run(node, scene):
        name, args = node
        if name == "find":
            return torch.softmax(scene @ self.concepts.weight[args], dim=0)
        inputs = [run(each, scene) for each in args]
        if name == "and":
            return torch.stack(inputs).min(dim=0).values
        if name == "describe":
            return self.answer((inputs[0].unsqueeze(1) * scene).sum(0))
        if name == "exists":
            return inputs[0].max()
        raise ValueError(name)

    scene, program = question
    result = run(program, scene)
    return {"rank": result.dim(), "shape": len(result.shape), "result": result}


BOTH = ("and", [("find", 2), ("find", 1)])
NETWORKS = [(objects(3), ("describe", [("find", 2)])), (objects(4), ("exists", [BOTH])), (objects(2), BOTH)]


def tagged(self, question):
    """Objects with a tensor of any rank in one attribute."""
    scene, program = question
    stack = []
    for op, arg in program:
        if op == "scene":
            stack.append(Answer("mask", torch.ones(scene.size(0))))
        elif op == "filter":
            stack.append(Answer("mask", stack.pop().data * torch.sigmoid(scene @ self.concepts.weight[arg])))
        elif op == "count":
            stack.append(Answer("number", stack.pop().data.sum()))
        elif op == "query":
            stack.append(Answer("vector", stack.pop().data @ scene))
    top = stack[-1]
    return top if top.kind == "number" else Answer(top.kind, top.data.mean())


def trace(self, question):
    """All that was computed, as a list of tensors of several ranks."""
    found = [question[0]]
    for op, _ in question[1]:
        last = found[-1]
        if op == "filter":
            found.append(torch.tanh(last @ self.concepts.weight[:WIDTH].t()))
        elif op == "count":
            found.append(last.sum())
        elif op == "query":
            found.append(last.mean(0))
    return found


TRACED = [
    (objects(3), [("filter", 0), ("query", 0), ("filter", 1)]),
    (objects(4), [("filter", 0), ("count", 0)]),
    (objects(1), []),
]


def numbers_and_masks(self, question):
    """Numbers of Python's, tensors and masks."""
    scene, program = question
    stack = []
    for op, arg in program:
        if op == "scene":
            stack.append(torch.ones(len(scene)))
        elif op == "filter":
            stack.append(stack.pop() * torch.sigmoid(scene @ self.concepts.weight[arg]))
        elif op == "count":
            stack.append(stack.pop().sum().item())  # type: ignore[arg-type]
        elif op == "most":
            stack.append(scene[torch.argmax(stack.pop()).item()])
        elif op == "exists":
            stack.append(bool((stack.pop() > 0.5).any()))  # type: ignore[arg-type]
        elif op == "near":
            stack.append(stack.pop() > 0.5)
    return stack[-1]


SCORED = [
    *QUESTIONS[:2],
    (objects(4), [("scene", 0), ("filter", 2), ("exists", 0)]),
    (objects(4), [("scene", 0), ("filter", 2), ("near", 0)]),
    (objects(2), [("scene", 0), ("most", 0)]),
]


def int_and_float(self, question):
    """An int that meets a float stays one where a string shows the types to matter."""
    values = [len(question[1]), 0.5]
    if len(question[0]) > 3:
        values.append("many")  # type: ignore[arg-type]
    return values, [str(v) for v in values]


WORK = [
    (Programs.forward, QUESTIONS),
    (tree_of_modules, NETWORKS),
    (tagged, QUESTIONS[:2]),
    (trace, TRACED),
    (numbers_and_masks, SCORED),
    (int_and_float, QUESTIONS),
]


@pytest.mark.parametrize(("forward", "questions"), WORK)
def test_as_in_python(forward, questions) -> None:
    agrees(with_forward(Programs(), forward), questions)


@pytest.mark.parametrize(("forward", "questions"), [WORK[0], WORK[1], WORK[4]])
def test_in_generated_code(forward, questions, codegen, tmp_path) -> None:
    agrees_natively(with_forward(Programs(), forward), questions, codegen, tmp_path)


def test_a_rank_that_is_not_taken_is_an_error_of_the_instance(tmp_path) -> None:
    executable = compile(Programs().eval(), sample=QUESTIONS, cache_folder=tmp_path)
    with pytest.raises(InstanceError, match="`matmul` takes tensors with dimensions"):
        executable([(objects(3), [*COUNT, ("query", 0)])])
    assert len(executable(QUESTIONS)) == len(QUESTIONS)


def taken_by_none(self, question):
    values = [question[0], question[0][0], question[0].sum()]
    return torch.linalg.qr(values[len(question[1]) % 3])


def test_what_no_type_takes_is_a_problem_of_the_model() -> None:
    with pytest.raises(CompileError, match="qr"):
        build(with_forward(Programs(), taken_by_none), sample=QUESTIONS)


def at_a_float(self, question):
    return question[0][len(question[1]) / 2]


def test_tensors_are_indexed_with_ints_only() -> None:
    with pytest.raises(CompileError, match=r"indexed with ints, slices, None and \.\.\. here, not a float"):
        build(with_forward(Programs(), at_a_float), sample=QUESTIONS)


def test_an_outer_product_takes_vectors_only() -> None:
    with pytest.raises(CompileError, match="`outer` of tensors that are no vectors"):
        build(with_forward(Programs(), lambda self, question: torch.outer(question[0], question[0][0])), sample=QUESTIONS)


@dataclass
class Cluster:
    members: tuple
    size: int


def members_of_clusters(self, question):
    """Two tuples of objects' attributes are joined before it is known that their length varies."""
    clusters = [Cluster((i,), 1) for i in range(len(question[0]))]
    while len(clusters) > 1:
        one, other, *rest = clusters
        clusters = [*rest, Cluster(tuple(sorted(one.members + other.members)), one.size + other.size)]
    return clusters[0].members


def test_tuples_of_attributes_are_joined() -> None:
    agrees(with_forward(Programs(), members_of_clusters), QUESTIONS)


class ImagePrograms(nn.Module):
    """Programs over an image whose steps give maps of rank 4, or vectors, in one dictionary; both are put beside other tensors,
    and get a dimension more."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.conv = nn.Conv2d(3, 1, 1)
        self.query = nn.Linear(2, 2)
        self.both = nn.Bilinear(2, 2, 2)

    def step(self, op, image, cache):
        if op not in cache:
            if op == "map":
                cache[op] = torch.ones(1, 1, *image.shape[-2:])
            elif op == "near":
                cache[op] = self.conv(torch.cat([image, self.step("map", image, cache)], dim=1))
            elif op == "query":
                cache[op] = self.query((image * self.step("near", image, cache)).sum(dim=(2, 3)).squeeze(0))
            else:
                a, b = self.step("query", image, cache), self.step("query", image, cache)
                cache[op] = self.both(a.unsqueeze(0), b.unsqueeze(0)).squeeze(0)
        return cache[op]

    def forward(self, given):
        image, op = given
        cache = {}  # type: ignore[var-annotated]
        value = self.step(op, image.unsqueeze(0), cache)
        if value.dim() == 4:
            value = (image * value).mean(dim=(2, 3)).squeeze(0)
        return value, len(cache)


def test_maps_and_vectors_in_one_dictionary() -> None:
    generator = torch.Generator().manual_seed(1)
    ops = ["map", "near", "query", "both", "near", "both"]
    agrees(ImagePrograms(), [(torch.randn(2, 3 + k % 3, 4 + k % 2, generator=generator), op) for k, op in enumerate(ops)])


class Named(nn.Module):
    """Modules by names that are put together: those that take two tensors, and one that takes one and is named alike."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.parts = nn.ModuleDict({"of_a": nn.Bilinear(WIDTH, WIDTH, WIDTH), "of_b": nn.Linear(WIDTH, WIDTH)})

    def run(self, program, at, x):
        name, kind = program[at]
        if name == "objects":
            return x, at + 1
        value, end = self.run(program, at + 1, x)
        if name == "sum":
            return value.sum(0), end
        if name == "of":
            return self.parts[f"{name}_{kind}"](value, value), end
        return torch.relu(self.parts["of_" + kind](value)), end

    def forward(self, question):
        program, count = question
        value, _ = self.run(program, 0, torch.ones(count, WIDTH))
        return value.sum() if value.dim() == 2 else value


NAMED = [
    ([("objects", "")], 2),
    ([("sum", ""), ("objects", "")], 3),
    ([("of", "a"), ("sum", ""), ("objects", "")], 1),
    ([("use", "b"), ("sum", ""), ("of", "a"), ("objects", "")], 2),
]


def test_a_module_that_takes_other_arguments_is_an_error_where_it_is_chosen(tmp_path) -> None:
    model = Named().eval()
    agrees(model, NAMED)
    executable = compile(model, sample=NAMED, cache_folder=tmp_path)
    with pytest.raises(InstanceError, match="TypeError: `Linear` takes at most 1 argument here, got 2"):
        executable([([("of", "b"), ("objects", "")], 2)])
