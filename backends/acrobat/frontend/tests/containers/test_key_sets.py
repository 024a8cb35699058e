"""Dictionaries in which names may be missing, in more sets than a sample shows."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.errors import InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.frontend.instances.key_sets import MOST, missing
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, as_tensors, assert_same


class Reader(nn.Module):
    """A sound of some length, a picture and words, of which an instance has some."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.sound, self.picture, self.words = nn.Linear(3, 4), nn.Linear(5, 4), nn.Embedding(6, 4)

    def forward(self, given):
        total = torch.zeros(4)
        sound = given.get("sound")
        if sound is not None:
            total = total + self.sound(sound).sum(0)
        if "picture" in given:
            total = total * 0.5 + self.picture(given["picture"])
        if "words" in given:
            total = total + self.words(given["words"]).mean(0)
        return total, given["id"]


def of(**entries):
    return {"id": 7, **entries}


SOUND, LONGER = torch.randn(2, 3), torch.randn(4, 3)
PICTURE, WORDS = torch.randn(5), torch.tensor([1, 5, 2])
SAMPLE = [
    of(sound=SOUND, picture=PICTURE),
    of(sound=LONGER, words=WORDS),
    of(words=WORDS, picture=PICTURE),
    of(sound=None, picture=PICTURE, words=WORDS[:1]),
]
OTHERS = [of(), of(sound=SOUND), of(picture=PICTURE), of(words=WORDS[:2]), of(sound=None), of(sound=None, words=WORDS)]


def test_sets_of_names_that_the_sample_does_not_show():
    agrees(Reader(), SAMPLE, [*SAMPLE, *OTHERS])


def test_an_entry_that_differs_in_kind_keeps_to_the_sets_that_were_seen():
    sample = [of(sound=SOUND, picture=PICTURE), of(sound=LONGER, words=WORDS), of(words=[1, 2], picture=PICTURE)]

    class Summed(nn.Module):
        def forward(self, given):
            return given["sound"].sum(0) if "sound" in given else given["picture"][:3]

    run = Interpreter(build(Summed(), sample=sample)).run
    assert_same(as_tensors(run(sample[1])), LONGER.sum(0), "sound")
    with pytest.raises(InstanceError, match="got"):
        run(of(sound=SOUND))


@pytest.mark.parametrize(
    ("seen", "likely"),
    [
        (["ab", "ac", "bc"], ["", "a", "b", "c", "abc"]),
        (["xa", "xb", "xab"], ["x"]),
        (["x", "xa", "xab"], []),  # b never without a
        (["xa", "xb", "x"], []),  # never both
        (["op", "opq", "v", "vq"], []),  # q beside either
        (["op", "opq", "vq", "v", "q"], [""]),
        (["lc", "lw", "ws"], []),
        (["x", "xa", "xb", "xc", "xbc"], ["abx", "abcx", "acx"]),  # more sets than names
    ],
)
def test_what_the_sets_seen_make_likely(seen, likely):
    assert sorted("".join(sorted(s)) for s in missing(seen)) == sorted(likely)


def test_too_many_sets_stay_those_that_were_seen():
    names = "abcdef"
    assert 2 ** len(names) > MOST
    assert not missing([a + b for a in names for b in names if a != b])


class OptionalNumber(nn.Module):
    """A tree of dictionaries that lack names, of which those on the lowest level have ints alone."""

    def forward(self, node):
        total = node["id"] + sum(self.forward(c) for c in node.get("children", []))
        return total * node["label"] if "label" in node else total


class OptionalDictionaries(nn.Module):
    def forward(self, r):
        options = r.get("options") or {}
        total = 2 if options.get("bold") else 1
        for tag in r.get("tags", ()):
            total += len(tag)
        return (
            total,
            [len(x) for x in r.get("tags", ())],
            r.get("parent", {}).get("name", "none"),
            r.get("parent", {}).get("id"),
        )


NODES = [
    {"id": 1},
    {"id": 2, "label": 3, "children": [{"id": 4}, {"id": 5, "label": 1}]},
    {"id": 1, "children": [{"id": 3, "children": [{"id": 2, "label": 2}]}]},
]
REQUESTS = [
    {"name": "a"},
    {"name": "b", "tags": ["x", "yy"], "parent": {"name": "p", "id": 3}},
    {"name": "c", "options": {"bold": True}, "size": 2},
    {"name": "d", "options": {}, "parent": {"name": "q", "id": 4}},
]


@pytest.mark.parametrize(("model", "instances"), [(OptionalNumber, NODES), (OptionalDictionaries, REQUESTS)])
def test_names_that_parts_of_json_lack(model, instances) -> None:
    agrees(model(), instances)
