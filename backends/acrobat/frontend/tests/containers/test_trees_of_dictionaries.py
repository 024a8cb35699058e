"""Trees of dictionaries whose lists of children are changed through a stack or a queue."""

# mypy: ignore-errors

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

LISTS = [[1], [1, 2, 0, 3], [1, 0, 2, 2, 0, 0, 5], []]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.lin = nn.Linear(3, 3)


def labels(node):
    return [node["label"], [labels(child) for child in node["children"]]]


def on_a_stack(self, xs):
    root = {"vec": torch.zeros(3), "label": 0, "children": []}
    stack = [root]
    for x in xs:
        if x > 0:
            node = {"vec": torch.ones(3) * x, "label": x, "children": []}
            stack[-1]["children"].append(node)
            stack.append(node)
        elif len(stack) > 1:
            done = stack.pop()
            done["vec"] = self.lin(done["vec"] + sum(child["vec"] for child in done["children"]))
    return [child["vec"] for child in root["children"]], labels(root)


def in_entries_of_a_queue(self, xs):
    root = {"label": 0, "children": []}
    queue, head = [{"vec": torch.zeros(3), "node": root}], 0
    while head < len(queue) and head < 3:
        item = queue[head]
        h = self.lin(item["vec"])
        item["node"]["label"] = 10 + head
        for x in xs:
            child = {"label": x, "children": []}
            item["node"]["children"].append(child)
            queue.append({"vec": h + x, "node": child})
        head += 1
    return labels(root), h


def by_other_methods(self, xs):
    root = {"label": 0, "children": []}
    agenda = [root]
    for k in range(2):
        node = agenda.pop(0)
        node["children"].extend({"label": x + k, "children": []} for x in xs)
        node["children"] += [{"label": 7, "children": []}]
        node["children"] = [child for child in node["children"] if child["label"] != 2]
        node["children"].sort(key=lambda child: child["label"])
        agenda += node["children"]
    return labels(root)


WORK = [on_a_stack, in_entries_of_a_queue, by_other_methods]


@pytest.mark.parametrize("function", WORK, ids=lambda f: f.__name__)
def test_as_in_python(function: Any) -> None:
    agrees(with_forward(Model(), function), LISTS)


def test_generated_code(codegen: str, tmp_path: Path) -> None:
    agrees_natively(with_forward(Model(), on_a_stack), LISTS, codegen, tmp_path)


def of_two_names(self, xs):
    root = {"label": 0, "children": []}
    stack, children = [root], root["children"]
    for x in xs:
        stack[-1]["children"].append({"label": x, "children": []})
    return len(children), labels(root)


def of_two_dictionaries(self, xs):
    children = []
    stack = [{"label": 0, "children": children}, {"label": 1, "children": children}]
    for x in xs:
        stack[0]["children"].append({"label": x, "children": []})
    return labels(stack[1]), len(children)


def walked_over(self, xs):
    root = {"label": 0, "children": [{"label": 1, "children": []}]}
    stack, count = [root], 0
    for child in root["children"]:
        count += child["label"]
        if count < len(xs):
            stack[-1]["children"].append({"label": 1, "children": []})
    return count


@pytest.mark.parametrize("function", [of_two_names, of_two_dictionaries, walked_over], ids=lambda f: f.__name__)
def test_lists_that_something_else_refers_to(function: Any) -> None:
    with pytest.raises(CompileError, match=r"`append` changes what `stack\[.*\]\['children'\]` has"):
        build(with_forward(Model(), function), sample=LISTS)
