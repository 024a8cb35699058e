"""The model as the program sees it: its weights, and the modules, tensors and objects that its source refers to."""

from __future__ import annotations

import gc
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from torch import nn

from backends.acrobat.core.types import TensorT
from backends.acrobat.frontend.diagnosis import DiagnosedFunctions
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.rewriting.outputs import Changing
from backends.acrobat.frontend.instances.datatypes import Datatypes
from backends.acrobat.frontend.instances.joined import JoinedClasses
from backends.acrobat.frontend.source import uncached
from backends.acrobat.frontend.tensors.parameters import is_weight, named_tensors, tie_key, values_of
from backends.acrobat.frontend.tensors.values import Module, fingerprint
from backends.acrobat.frontend.values import Dyn, Static, Value
from backends.acrobat.ir import nodes as n
from backends.acrobat.memory import unusable


class FunctionsOfModel(DiagnosedFunctions):
    """The compiled functions of one model, with the values that they find outside of their source."""

    def __init__(
        self, module: nn.Module, closes: bool = True, joined: JoinedClasses | None = None, observed: bool = False
    ) -> None:
        super().__init__(Datatypes(module, joined))
        self.module = module
        self.observed = observed
        self.closes = closes  # whether types of trees that a recursion makes are closed where they are not known entirely
        self.changing = Changing(list(module.modules()))
        self.kept: set[Any] = set()  # what modules are that are arguments and kept in objects: each has functions of its own
        self.weights: dict[str, TensorT] = {}
        self.values: dict[str, np.ndarray] = {}
        canonical: dict[Any, str] = {}  # by memory, the name of the weight: tied parameters share one
        atoms = []
        for name, t in named_tensors(module):
            if not is_weight(t):
                continue  # its values are constants: see `modules.tensor_of`
            first = canonical.setdefault(tie_key(t), name)
            type = TensorT(tuple(t.shape))
            atoms.append((name, n.Weight(first, type)))
            self.weights[first] = type
            self.values[first] = values_of(t)
        self.root = Module(module, tuple(atoms), root=True)

    def weight_of_constants(self, name: str) -> n.Weight | None:
        """The model's buffer of ints or bools of that name as a weight, of ones and zeros for bools; None if there is none."""
        t = dict(named_tensors(self.module)).get(name)
        if t is None or t.dtype not in (torch.bool, torch.int64) or unusable(t):
            return None
        self.weights[name] = TensorT(tuple(t.shape))
        self.values[name] = values_of(t)
        return n.Weight(name, self.weights[name])

    def tensor_name(self, t: torch.Tensor, name: str) -> str:
        """The first name of a parameter or buffer in the model; `name` for a tensor that is not part of the model."""
        return next((k for k, other in named_tensors(self.module) if other is t), name)

    def wrap(self, value: Any) -> Value:
        """The value of a global or closure variable of the source, or of a part of a constant object. Raises Refused for a
        module or tensor outside the model."""
        if isinstance(value, nn.Module):
            path = next((path for path, m in self.module.named_modules() if m is value), None)
            if path is None:
                raise Refused("a module that is not part of the model", "make it an attribute of the model")
            return self.root.child(path) if path else self.root
        if isinstance(value, torch.Tensor):
            atom = self.root.tensor(self.tensor_name(value, ""))
            if atom is not None:
                return Dyn(atom)
            raise Refused("a tensor that is not part of the model", "make it a parameter or a buffer of the model")
        if isinstance(value, MappingProxyType):  # a view of a dictionary
            (value,) = gc.get_referents(value)
        return Static(uncached(value))

    def path_of(self, module: nn.Module) -> str:
        return next((path for path, m in self.module.named_modules() if m is module), "")

    def is_apart(self, owner: Any) -> bool:
        if not isinstance(owner, nn.Module):
            return False
        parts = list(owner.modules())
        kept = bool(self.kept) and any(fingerprint(m) in self.kept for m in parts)
        return kept or any(map(self.carried.attributes_of, parts))

    def keep_apart(self, module: Any) -> bool:
        like = fingerprint(module)
        if like in self.kept:
            return True
        self.kept.add(like)
        self.changed = True
        return False
