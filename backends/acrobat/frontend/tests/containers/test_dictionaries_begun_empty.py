"""Dictionaries that begin as `{}` and get values under names: where these have no type together, such as the feature maps of
several stages, they are dictionaries with names."""

# mypy: ignore-errors
# ruff: noqa: B905 - as users write `zip`
from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, with_forward


class Stages(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.stages = nn.ModuleDict({"low": nn.Conv2d(1, 2, 3, 2, 1), "high": nn.Conv2d(2, 3, 3, 2, 1)})
        self.heads = nn.ModuleDict({"low": nn.Linear(2, 4), "high": nn.Linear(3, 4)})

    def features(self, x):
        found = {}
        for name, stage in self.stages.items():
            x = torch.relu(stage(x))
            found[name] = x
        return found

    def maps(self, x):
        found = []
        for stage in self.stages.values():
            x = torch.relu(stage(x))
            found.append(x)
        return found


IMAGES = [torch.randn(1, 1, 8, 8, generator=torch.Generator().manual_seed(i)) for i in range(4)]


def one_by_one(self, x):
    maps: dict = {}
    x = self.stages["low"](x)
    maps["low"] = x
    x = self.stages["high"](x)
    maps["high"] = x
    return maps, maps["low"].mean() + maps["high"].mean()


def numbered(self, x):
    maps = {}
    for i, stage in enumerate(self.stages.values()):
        x = stage(x)
        maps[f"p{i + 3}"] = x
    return maps


def walked(self, x):
    found = self.features(x)
    scores = {name: self.heads[name](v.mean(dim=(2, 3))) for name, v in found.items()}
    return scores, sum(v.sum() for v in found.values()), list(found), len(found), "low" in found


def further_names(self, x):
    found = self.features(x)
    out = {}
    for name in self.heads:
        out[name] = self.heads[name](found[name].mean(dim=(2, 3)))
    out["joined"] = torch.cat([found["low"].flatten(), found["high"].flatten()])
    return out


def of_several_types(self, x):
    report = {}
    report["count"] = len(x)
    report["image"] = x
    report["pieces"] = [x, x + 1]
    report["name"] = "image"
    report["sum"] = report["image"].sum()
    return report


def zipped_with_sizes(self, x):
    maps = self.maps(x)
    sizes = [tuple(m.shape[-2:]) for m in maps]
    whole = torch.zeros(1, 5, 8, 8)
    at = 0
    for m, (height, width) in zip(maps, sizes):
        whole[:, at : at + m.size(1)] = F.interpolate(m, size=(8, 8)) * (height + width)
        at += m.size(1)
    return whole, sizes


FORWARDS = [one_by_one, numbered, walked, further_names, of_several_types, zipped_with_sizes]


@pytest.mark.parametrize("forward", FORWARDS, ids=lambda f: f.__name__)
def test_values_of_several_shapes_and_types(forward):
    agrees(with_forward(Stages(), forward), IMAGES)


def of_one_type_by_numbers(self, x):
    found = {}
    for i in range(3):
        found[f"k{i}"] = x[0, 0, 0] * i
    found["whole"] = x[0, 0]
    return found


def at_a_key_of_run_time(self, x):
    found = {}
    found["a"] = 1
    found["b"] = "x"
    return found["a" if x.sum() > 0 else "b"]


@pytest.mark.parametrize("forward", [of_one_type_by_numbers, at_a_key_of_run_time], ids=lambda f: f.__name__)
def test_other_dictionaries_stay_as_they_are(forward):
    agrees(with_forward(Stages(), forward), IMAGES)
