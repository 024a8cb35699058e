"""Tensors of several fixed shapes in one place, of which some are broadcast."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from backends.acrobat.compiler import compile
from backends.acrobat.errors import InstanceError
from backends.acrobat.ir.printer import print_program
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

WIDTH = 5
GENERATOR = torch.Generator().manual_seed(1)


class Attending(nn.Module):
    """Programs over the objects of a scene: each step gives an attention, one number for each object, or a vector for each."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.steps = nn.ModuleDict({"find": nn.Linear(WIDTH, 1), "query": nn.Linear(WIDTH, WIDTH)})
        self.widths = nn.ModuleList([nn.Linear(WIDTH, width) for width in (1, 3, 7)])
        self.answer = nn.Linear(WIDTH, 2)

    def forward(self, question):
        scene, program = question
        saved, output = [], torch.ones(scene.size(0), 1)
        for step in program:
            if step == "save":
                saved.append(output)
                output = torch.ones(scene.size(0), 1)
            elif step == "both":
                output = torch.minimum(output, saved.pop())
            else:
                output = torch.sigmoid(self.steps[step](scene * output))
        if output.size(1) == 1:
            output = scene * output
        return self.answer(output).sum(0)


def questions(*objects: int) -> list[tuple[torch.Tensor, list[str]]]:
    programs = ["find query", "find", "", "query query", "find save query save find both both"]
    sizes = [objects[i % len(objects)] for i in range(len(programs))]
    return [(torch.randn(n, WIDTH, generator=GENERATOR), p.split()) for n, p in zip(sizes, programs, strict=True)]


def test_maps_of_one_column_and_of_several(codegen: str, tmp_path: Path) -> None:
    agrees_natively(Attending().eval(), questions(3), codegen, tmp_path)


def test_maps_whose_other_extent_varies() -> None:
    agrees(Attending(), questions(3, 1, 4))


def broadcast_at_first(self, question):
    state = torch.zeros(1)
    for row in question[0]:
        state = torch.tanh(state + row)
    return state


def test_a_state_that_begins_with_one_number() -> None:
    instances = questions(3, 1, 4)
    agrees(with_forward(Attending(), broadcast_at_first), instances)
    agrees(with_forward(Attending(), broadcast_at_first), instances, [(torch.zeros(0, WIDTH), [])])


def one_of_three(self, question):
    """Widths on three paths, of which one is broadcast over another one."""
    scene, program = question
    x = scene.mean(0)
    if len(program) == 0:
        x = self.widths[0](x)
    elif len(program) == 1:
        x = self.widths[1](x)
    else:
        x = self.widths[2](x)
    if x.size(0) < 7:
        x = x + torch.full((3,), 2.0)
    return x * 2, x.shape[0]


def test_three_shapes() -> None:
    agrees(with_forward(Attending(), one_of_three), questions(3, 2))


def test_a_shape_that_is_not_taken_is_an_error_of_the_instance(tmp_path: Path) -> None:
    def added(self, question):
        scene, program = question
        x = self.widths[0](scene) if not program else self.widths[1](scene) if program[0] == "find" else self.widths[2](scene)
        return x + torch.full((3,), 2.0)

    model, instances = with_forward(Attending(), added), questions(2)
    executable = compile(model, sample=instances, checked=True, cache_folder=tmp_path)
    taken = [x for x in instances if x[1][:1] != ["query"]]
    for mine, instance in zip(executable(taken), taken, strict=True):
        assert torch.allclose(mine, model(instance), atol=1e-5)
    with pytest.raises(InstanceError, match=r"\(7,\) .* \(3,\)|shape"):
        executable([instances[3]])


def growing(self, question):
    rows = torch.ones(1, WIDTH)
    for row in question[0]:
        rows = torch.cat([rows, rows[-1:] * row])
    return rows.softmax(0) * torch.full((WIDTH,), 2.0)


def test_extents_that_vary_stay_so() -> None:
    program = agrees(with_forward(Attending(), growing), questions(3, 2))
    assert "of_tensor" not in print_program(program)


class Answering(Attending):
    """Programs in prefix notation over a map whose extents vary: a step gives a map or a vector, as the code after it asks."""

    def __init__(self) -> None:
        super().__init__()
        self.map = nn.Conv2d(2, 1, 1)
        self.pair = nn.Linear(4, 2)

    def step(self, program, at, features):
        name, at = program[at], at + 1
        inputs = []
        for _ in range({"ones": 0, "both": 2, "pair": 2}.get(name, 1)):
            value, at = self.step(program, at, features)
            inputs.append(value)
        if name == "ones":
            return torch.ones(1, 1, *features.shape[2:]), at
        if name == "near":
            return torch.sigmoid(self.map(features * inputs[0])), at
        if name == "both":
            return torch.min(*inputs), at
        if name == "pooled":
            return (features * inputs[0]).sum(dim=(2, 3)).squeeze(0), at
        return torch.relu(self.pair(torch.cat(inputs))), at

    def forward(self, question):
        image, program = question
        value, _ = self.step(program, 0, image.unsqueeze(0))
        if value.dim() == 4:
            return {"map": value[0, 0], "answer": None}
        return {"map": None, "answer": ["no", "yes"][value.argmax(-1)]}


def test_maps_and_vectors_that_a_recursion_gives() -> None:
    programs = ["ones", "near ones", "pooled near ones", "both near ones ones", "pair pooled ones pooled near ones"]
    images = [torch.randn(2, 2 + i % 3, 1 + i % 2, generator=GENERATOR) for i in range(len(programs))]
    agrees(Answering(), [(x, p.split()) for x, p in zip(images, programs, strict=True)])


def test_a_test_of_the_shape_tells_it_in_its_arms() -> None:
    def forward(self, question):
        scene, program = question
        x = scene.mean(0)
        x = self.widths[len(program) % 3](x)
        y = x + torch.full((3,), 2.0) if x.shape[0] != 7 else x
        if x.numel() == 1:
            return y + x.item()
        if len(x.shape) == 1 and x.shape[-1] == 3:
            return self.widths[1].weight @ scene[0] + x
        return self.widths[2].weight @ scene[0] + y

    agrees(with_forward(Attending(), forward), questions(3, 2))
