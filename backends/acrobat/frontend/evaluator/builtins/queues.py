"""Classes of Python's own and of PyTorch's of which objects of classes of the library take the place, as queues."""

from __future__ import annotations

import ast
from functools import partial

from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.objects.initialisation import instantiate
from backends.acrobat.frontend.evaluator.tables import FUNCTIONS
from backends.acrobat.frontend.values import Value
from backends.acrobat.library import CLASSES


def _made(cls: type, f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    return instantiate(f, node, cls, args, kwargs)


FUNCTIONS |= {theirs: partial(_made, ours) for theirs, ours in CLASSES.items()}
