"""Programs that the passes have finished, kept on disk: a model that was compiled before is read by the front end and nothing
else, which is what most of the time went into.

One file in `programs` of the cache folder for each program that the front end gave and the options of the passes, named by a
hash of both, of the compiler's sources and of Python's version. It holds what passes change of a program. Weights' values, the
user's classes, messages and the boundary stay those of the front end, and places in the source are part of what is hashed.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
from dataclasses import replace
from pathlib import Path

from backends.acrobat import versions
from backends.acrobat.core.folders import cache_folder
from backends.acrobat.core.kept import read, write
from backends.acrobat.ir.nodes import Program
from backends.acrobat.options import Options
from backends.acrobat.pipeline import optimise


def finished(program: Program, options: Options, folder: Path | None = None) -> Program:
    """`optimise(program, options)`, from the disk if it was done before. Raises what that raises, and RecursionError on a stack
    that is too small."""
    path = (cache_folder() if folder is None else folder) / "programs" / key(program, options)
    if (found := read(path)) is not None:
        functions, weights, derived, entry = pickle.loads(found[1])
        values = {name: value for name, value in program.values.items() if name in found[0]["values"]}
        return replace(program, functions=functions, weights=weights, derived=derived, entry=entry, values=values)
    made = optimise(program, options)
    content = pickle.dumps((made.functions, made.weights, made.derived, made.entry))
    write(path, ({"values": list(made.values)}, content))
    return made


def key(program: Program, options: Options) -> str:
    """The name of a finished program. Of the user's classes names and fields count, not what they are in this process."""
    classes = [(name, [(case.name, case.fields) for case in t.cases]) for name, t in program.datatypes.items()]
    parts = (program.functions, program.weights, program.derived, program.entry, list(program.values), classes)
    digest = hashlib.sha256(pickle.dumps(parts))
    digest.update(repr((options.effective(), versions.source_hash(), sys.version)).encode())
    return digest.hexdigest()[:32]
