"""`raise` and `assert` in a model: the error has the model's own text and line, and the executable stays usable."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import pytest
import torch

from backends.acrobat import compile
from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.frontend.tests.test_own_model import load
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.ir.verifier import verify
from backends.acrobat.options import Options
from backends.acrobat.passes.dead import remove_dead
from backends.acrobat.tests.zoo.check import as_tensors, assert_same

HEAD = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.lin = nn.Linear(4, 4)

"""

MODELS = {
    "a branch": """
    def forward(self, s):
        if s["n"] > 3:
            raise ValueError(f"n is {s['n']}, of {s['x'].size(0)}")
        return self.lin(s["x"])
""",
    "a sum and joined texts": """
    def forward(self, s):
        if s["n"] > 3:
            raise ValueError(s["n"] + 1, s["op"] + " and " + str(s["n"] + 2), s["n"] + 0.5)
        return self.lin(s["x"])
""",
    "in place of a value": """
    def forward(self, s):
        if s["op"] == "add":
            return s["x"] + 1.0
        elif s["op"] == "lin":
            return self.lin(s["x"])
        else:
            raise NotImplementedError("no operation " + s["op"])
""",
    "a loop": """
    def forward(self, s):
        total = 0
        for k in s["xs"]:
            if k < 0:
                raise ValueError(f"{k:+d} is below {0}, {total / 2!r}")
            total += k
        return self.lin(s["x"]) * total
""",
    "a loop with other ends": """
    def forward(self, s):
        h = s["x"]
        for k in s["xs"]:
            if k == 7:
                break
            elif k == 5:
                return h
            elif k < 0:
                raise KeyError(k)
            else:
                h = self.lin(h)
        return h
""",
    "an assertion": """
    def forward(self, s):
        assert s["x"].dim() == 1
        assert s["n"] < 4, "too many"
        return self.lin(s["x"])
""",
    "an assertion without a text": """
    def forward(self, s):
        y = self.lin(s["x"])
        assert 0 <= s["n"] <= 3
        return y
""",
    "a function that checks": """
    def check(self, n):
        if n > 3:
            raise RuntimeError("{n} is no place")
        return n

    def forward(self, s):
        n = self.check(s["n"])
        return self.lin(s["x"]) * n
""",
    "a function that always fails": """
    def fail(self, what):
        raise RuntimeError(f"{what} is not known")

    def forward(self, s):
        if s["op"] == "other":
            return self.fail(s["op"])
        return self.lin(s["x"])
""",
    "narrowed": """
    def forward(self, s):
        assert s["maybe"] is not None, f"nothing for {s['op']}"
        maybe = s["maybe"]
        assert maybe is not None
        return self.lin(s["x"]) * maybe
""",
    "a branch in a branch that assigns nothing": """
    def forward(self, s):
        y = self.lin(s["x"])
        mode = "x"
        if s["op"] != "add":
            if s["n"] > 3 and s["maybe"] is None:
                raise ValueError("too much")
            mode = "x"
        else:
            pass
        return y if mode == "x" else -y
""",
    "loops in branches": """
    def forward(self, s):
        if s["op"] != "add":
            for k in (3, 4):
                if s["n"] > k:
                    pass
                elif s["n"] == k and k == 4:
                    for x in s["xs"]:
                        assert x > 0, f"{x} in a loop"
        return self.lin(s["x"])
""",
    "functions that only check": """
    def check(self, k):
        if k == -3:
            raise ValueError(f"{k}")

    def follow(self, xs, at):
        if at == len(xs):
            return
        self.check(xs[at])
        self.follow(xs, at + 1)

    def forward(self, s):
        if s["n"] > 3:
            self.follow(s["xs"], 0)
        self.check(s["n"]) if s["op"] == "lin" else None
        [self.check(x) for x in s["xs"]]
        return self.lin(s["x"])
""",
    "a check whose result is not used": """
    def check(self, n):
        assert n <= 3, "much"
        return True

    def forward(self, s):
        ok = s["op"] != "add" and self.check(s["n"])
        return self.lin(s["x"])
""",
    "a tensor's value": """
    def forward(self, s):
        y = self.lin(s["x"])
        if s["n"] > 3 and y.sum() < 1e9:
            raise ValueError("too much")
        return y
""",
}


def instances() -> list[dict[str, Any]]:
    generator = torch.Generator().manual_seed(1)

    def one(**other: Any) -> dict[str, Any]:
        base = {"n": 1, "op": "add", "xs": [1, 2], "x": torch.randn(4, generator=generator), "maybe": 2.0}
        return {**base, **other}

    right = [one(), one(op="lin", xs=[3, 5, 7]), one(n=3, xs=[7, 1])]
    return [*right, one(n=4, op="other", xs=[1, 2, -3], maybe=None)]


def text_of(error: Exception) -> str:
    """The text of an error of the model, in the form in which the compiled program gives it."""
    return f"{type(error).__name__}: {', '.join(map(str, error.args))}"


@pytest.mark.parametrize("name", MODELS)
def test_interpreter(name: str, tmp_path: Path) -> None:
    module = load(tmp_path, HEAD + MODELS[name], f"raised_{name.replace(' ', '_').replace(chr(39), '')}").Model().eval()
    program = build(module, sample=instances())
    verify(program)
    program = remove_dead(program)
    verify(program)
    interpreter = Interpreter(program)
    failed = 0
    with torch.no_grad():
        for instance in instances():
            try:
                expected = module(instance)
            except Exception as error:
                failed += 1
                with pytest.raises(InstanceError) as raised:
                    interpreter.run(instance)
                line = next(t for t in reversed(walked(error)) if t[0].endswith(".py"))
                own = text_of(error) if str(error) else "AssertionError: assert "
                assert str(raised.value).startswith(f"{line[0]}:{line[1]}: {own}")
            else:
                assert_same(as_tensors(interpreter.run(instance)), expected, name)
    assert failed == 1


def walked(error: BaseException) -> list[tuple[str, int]]:
    """File and line of each frame of the traceback of `error`, the innermost last."""
    out, trace = [], error.__traceback__
    while trace is not None:
        out.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno))
        trace = trace.tb_next
    return out


ALL = (
    HEAD
    + """
    def checked(self, k, what):
        assert k >= 0, f"{what}: {k} of {k / 4} is {k > 1}"
        return k

    def forward(self, s):
        total = 0
        for k in s["xs"]:
            total += self.checked(k, s["op"])
        if s["maybe"] is None:
            raise ValueError("never")
        return self.lin(s["x"]) * total
"""
)


@pytest.mark.parametrize("vm", [False, True], ids=["C++", "VM"])
def test_natively(vm: bool, tmp_path: Path, cache: Path) -> None:
    """The error names the instance, and the executable stays usable."""
    module = load(tmp_path, ALL, "raised_natively").Model().eval()
    executable = compile(
        module, sample=instances(), checked=True, cache_folder=cache, options=Options(codegen="vm" if vm else "aot")
    )
    *right, wrong = instances()
    for _ in range(2):
        with pytest.raises(
            InstanceError, match=r"instance 2: .*raised_natively\.py:\d+: AssertionError: other: -3 of -0.75 is False$"
        ):
            executable([*right[:2], wrong, right[2]])
        with torch.no_grad():
            for mine, x in zip(executable(right), right, strict=True):
                assert_same(mine, module(x), "after an error")


@pytest.mark.parametrize("written", ["raise", "raise s['error']", "raise 3"])
def test_what_is_no_exception_is_refused(written: str, tmp_path: Path) -> None:
    source = f"    def forward(self, s):\n        if s['n'] > 3:\n            {written}\n        return self.lin(s['x'])\n"
    module = load(tmp_path, HEAD + source, f"raised_wrong_{zlib.crc32(written.encode())}").Model().eval()
    with pytest.raises(CompileError, match=r"`raise` takes an exception|has no|not in the language"):
        build(module, sample=instances())


ZIPPED = (
    HEAD
    + """
    def forward(self, s):
        total = 0
        for a, b in zip(s["xs"], s["ys"], strict=True):
            total += a * b
        return self.lin(s["x"]) * total
"""
)


@pytest.mark.parametrize("vm", [False, True], ids=["C++", "VM"])
def test_strict_zip_of_unequal_lists(vm: bool, tmp_path: Path, cache: Path) -> None:
    module = load(tmp_path, ZIPPED, "raised_zipped").Model().eval()
    right = [{"x": torch.ones(4), "xs": xs, "ys": ys} for xs, ys in (([1, 2], [3, 4]), ([], []), ([5], [6]))]
    options = Options(codegen="vm" if vm else "aot")
    executable = compile(module, sample=right, checked=True, cache_folder=cache, options=options)
    for ys, lengths in (([3], "1 and 2"), ([3, 4, 5], "3 and 2"), ([], "0 and 2")):
        wrong = {**right[0], "ys": ys}
        with pytest.raises(ValueError, match="zip"):
            module(wrong)
        with pytest.raises(InstanceError, match=rf"instance 1: .*ValueError: zip\(\) of {lengths} elements with strict=True$"):
            executable([right[2], wrong])
        with torch.no_grad():
            for mine, x in zip(executable(right), right, strict=True):
                assert_same(mine, module(x), "after an error")
