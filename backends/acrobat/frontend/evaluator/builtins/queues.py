"""The classes of Python's `queue`: objects of classes of the library take their place."""

from __future__ import annotations

import ast
import queue
from functools import partial

from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.objects.initialisation import instantiate
from backends.acrobat.frontend.evaluator.tables import FUNCTIONS
from backends.acrobat.frontend.values import Value
from backends.acrobat.library import queues

CLASSES = {
    queue.PriorityQueue: queues.PriorityQueue,
    queue.Queue: queues.Queue,
    queue.SimpleQueue: queues.Queue,
    queue.LifoQueue: queues.LifoQueue,
}


def _made(cls: type, f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    return instantiate(f, node, cls, args, kwargs)


FUNCTIONS |= {theirs: partial(_made, ours) for theirs, ours in CLASSES.items()}
