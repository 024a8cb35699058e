"""Keeps finished programs on disk: the passes are skipped for a program that they have had before.

The cache folder has one file in `programs` for each result of the front end with the options of the passes; its name is a hash
of both, of the compiler's sources and of Python's version. Places in the source are hashed too. The file has the parts of a
program that passes change. Weights' values, the user's classes, messages and the boundary are those of the front end's program.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
from dataclasses import replace
from pathlib import Path

from backends.acrobat import versions
from backends.acrobat.core.cache_files import read, write
from backends.acrobat.core.folders import cache_folder
from backends.acrobat.ir.nodes import Program
from backends.acrobat.options import Options
from backends.acrobat.pipeline import optimise


def finished(program: Program, options: Options, folder: Path | None = None) -> Program:
    """`optimise(program, options)`, or its result from disk if it was called before. Raises what `optimise` raises, and
    RecursionError if the program is nested too deeply for Python's stack."""
    path = (cache_folder() if folder is None else folder) / "programs" / key(program, options)
    if (found := read(path)) is not None:
        functions, weights, derived, entry = pickle.loads(found[1])
        values = {name: value for name, value in program.values.items() if name in found[0]["values"]}
        return replace(program, functions=functions, weights=weights, derived=derived, entry=entry, values=values)
    optimised = optimise(program, options)
    content = pickle.dumps((optimised.functions, optimised.weights, optimised.derived, optimised.entry))
    write(path, ({"values": list(optimised.values)}, content))
    return optimised


def key(program: Program, options: Options) -> str:
    """The name of a finished program's file. It depends on names and fields of the user's classes, not on the class objects."""
    classes = [(name, [(case.name, case.fields) for case in t.cases]) for name, t in program.datatypes.items()]
    parts = (program.functions, program.weights, program.derived, program.entry, list(program.values), classes)
    digest = hashlib.sha256(pickle.dumps(parts))
    digest.update(repr((options.effective(), versions.source_hash(), sys.version)).encode())
    return digest.hexdigest()[:32]
