"""The checksums of `zlib`, by which models number words: `zlib.crc32(word.encode()) % buckets`."""

from __future__ import annotations

import ast
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any

from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.lists import as_list
from backends.acrobat.frontend.evaluator.lists.walking import iterable
from backends.acrobat.frontend.evaluator.tables import FUNCTIONS
from backends.acrobat.frontend.kinds import known, nothing_known
from backends.acrobat.frontend.values import Static, Value, unknown
from backends.acrobat.library import hashes


def _checksum(
    function: Callable[..., int],
    in_library: Any,
    first: int,
    f: Frame,
    node: ast.AST,
    args: list[Value],
    kwargs: dict[str, Value],
    hint: str,
) -> Value:
    data, value = CallArguments(function.__name__, args, kwargs).bind("data", "value", value=Static(first))
    if nothing_known(data) or nothing_known(value):
        return unknown()
    if known(data)[0] and known(value)[0]:
        return Static(function(bytes(known(data)[1]), known(value)[1]))
    return f.program.call(f, node, in_library, [as_list(f, node, iterable(f, data)), value], {})


FUNCTIONS[zlib.crc32] = partial(_checksum, zlib.crc32, hashes.crc32, 0)
FUNCTIONS[zlib.adler32] = partial(_checksum, zlib.adler32, hashes.adler32, 1)
