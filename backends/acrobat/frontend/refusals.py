"""Why a function has no place in a compiled model, and what to write instead, for those that users write most often."""

from __future__ import annotations

import math
import types
from typing import Any

RANDOM = """
rand randn randint rand_like randn_like randint_like randperm bernoulli multinomial normal poisson gumbel_softmax normal_
uniform_ random_ bernoulli_ exponential_ geometric_ cauchy_ log_normal_ manual_seed seed sample rsample
"""
GRADIENTS = "backward grad retain_grad register_hook zero_grad vjp jvp jacobian hessian gradcheck requires_grad"
DEVICES = "cuda mps xpu get_device is_cuda share_memory_"
COMPLEX = "fft rfft ifft irfft fft2 ifft2 fftn complex polar view_as_complex view_as_real real imag angle conj stft istft"
OF_NUMPY = "numpy __array__"

DRAWN = (
    "draws random numbers, other ones in each call",
    "draw them where the instances are made, and give them with the instance; or take the likeliest, by `argmax`",
)
WRITES = "writes something, and a compiled model has no effect but its result", "leave it out, or return what it is to write"
BESIDE = "does something beside computing the result", "do it before or after the executable is called"
BY_NAME: dict[str, tuple[str, str]] = {
    **dict.fromkeys(RANDOM.split(), DRAWN),
    **dict.fromkeys(GRADIENTS.split(), ("is about gradients, which a compiled model does not compute", "leave it out")),
    **dict.fromkeys(DEVICES.split(), ("is about devices, which `compile` is told", "leave it out")),
    **dict.fromkeys(COMPLEX.split(), ("is for complex numbers, which compiled models do not have", "compute it beforehand")),
    **dict.fromkeys(
        OF_NUMPY.split(),
        ("gives an array, which compiled models do not have", "use torch's functions, or `tolist()`"),
    ),
    "from_numpy": ("takes an array, which compiled models do not have", "write `torch.tensor` of a list"),
    "print": WRITES,
    "input": BESIDE,
    "open": ("reads or writes a file", "read it in `__init__`, into an attribute of the model"),
    "eval": ("runs text as a program", "write what it computes"),
    "exec": ("runs text as a program", "write what it does"),
    "setattr": (
        "assigns to an attribute by a name that is not written out in the function",
        "write `x.name = value`, or an `if` over the names",
    ),
    "vmap": (
        "maps a function over a dimension",
        "write a comprehension over the parts: they join one batch",
    ),
    "cond": ("chooses between functions", "write `if`: it may depend on a tensor's value"),
}
"""Name of a function or method -> what it does, and what to write instead."""
BY_HOME: dict[str, tuple[str, str]] = {
    "random": DRAWN,
    "numpy.random": DRAWN,
    "secrets": DRAWN,
    "time": ("reads the clock", "measure around the call of the executable"),
    "logging": WRITES,
    "warnings": WRITES,
    "_warnings": WRITES,
    "os": ("asks the system", "ask in `__init__`, and keep the answer as an attribute of the model"),
    **dict.fromkeys(("threading", "asyncio", "multiprocessing", "concurrent", "subprocess", "socket"), BESIDE),
}
"""Module -> what its functions do, and what to write instead."""


INSTEAD_OF_NUMPY = {
    **dict.fromkeys(("array", "asarray"), "torch.tensor(xs)"),
    "arange": "range(n)",
    "argmax": "max(range(len(xs)), key=lambda i: xs[i])",
    "argmin": "min(range(len(xs)), key=lambda i: xs[i])",
    "argsort": "sorted(range(len(xs)), key=lambda i: xs[i])",
    "concatenate": "xs + ys",
    "cumsum": "list(itertools.accumulate(xs))",
    "max": "max(xs)",
    "mean": "sum(xs) / len(xs)",
    "min": "min(xs)",
    "prod": "math.prod(xs)",
    "sort": "sorted(xs)",
    "sum": "sum(xs)",
    "unique": "sorted(set(xs))",
    "where": "[i for i, x in enumerate(xs) if x > 0]",
    "float64": "float(x)",
    **dict.fromkeys(("int32", "int64"), "int(x)"),
}
"""Name of a function of numpy -> what gives the same for numbers and lists of them."""


def home_of(function: Any) -> str:
    """The module of a function, or of the class of the object whose method it is."""
    owner = getattr(function, "__self__", None)
    if not isinstance(function, type) and type(function).__module__ == "numpy":  # one that works element by element
        return "numpy"
    if owner is not None and not isinstance(owner, (type, types.ModuleType)):
        return str(type(owner).__module__)
    return str(getattr(function, "__module__", None) or getattr(owner, "__name__", ""))


def of_home(written: str, function: Any) -> tuple[str, str] | None:
    """The message and the advice for a function of one of the modules in `BY_HOME`; None for other functions."""
    home = f"{home_of(function)}."
    known = next((BY_HOME[name] for name in BY_HOME if home.startswith(f"{name}.")), None)
    return None if known is None else (f"`{written}` is not in the language: it {known[0]}", known[1])


def of_numpy(written: str, name: str) -> tuple[str, str]:
    """The message and the advice for a function of numpy, whose name there is `name`."""
    instead = INSTEAD_OF_NUMPY.get(name) or (f"math.{name}(x)" if hasattr(math, name) else "")
    of_numbers = f"write `{instead}`" if instead else "compute it where the instances are made, and give it with the instance"
    advice = f"{of_numbers}; of tensors use torch's own functions, which compute in float32"
    return f"`{written}` is not in the language: numpy makes arrays of float64, which compiled models do not have", advice


def refusal(written: str, otherwise: str, advice: str) -> tuple[str, str]:
    """The message and the advice for a call that is written so, or those that are given for one that is not in the table."""
    if (known := BY_NAME.get(written.rpartition(".")[2])) is None:
        return otherwise, advice
    return f"`{written}` is not in the language: it {known[0]}", known[1]
