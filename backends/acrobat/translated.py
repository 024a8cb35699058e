"""Keeps what the front end makes on disk: a model that was compiled before, with an equal sample, does not go through it again.

The cache folder has one file in `translations` for each fingerprint (`fingerprint.py`), with the program and a record of what
the front end has read. Where these refer to the user's own classes, functions and objects, the file has their numbers in the
walk of the fingerprint. Values of weights are not kept but taken from the module.

Nothing is kept of a model of which the fingerprint does not tell all that the front end has read, of one that leads to
something without a fingerprint, and of one that is refused. Such models are translated each time.
"""

from __future__ import annotations

import hashlib
import io
import pickle
import sys
import types
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch
from torch import nn

from backends.acrobat import versions
from backends.acrobat.core.cache_files import read, write
from backends.acrobat.core.folders import cache_folder
from backends.acrobat.fingerprint import SCALARS, Fingerprint, NoFingerprint, of_library
from backends.acrobat.frontend import build_with_reads
from backends.acrobat.frontend.instances.made_classes import remade
from backends.acrobat.frontend.reads import Reads, looked_up
from backends.acrobat.frontend.tensors.forwards import globally_hooked
from backends.acrobat.frontend.tensors.parameters import named_tensors, values_of
from backends.acrobat.ir.nodes import Program

KEPT = tuple(f.name for f in fields(Program) if f.init and f.name != "values")


def translated(module: nn.Module, sample: Sequence[Any] | None, folder: Path | None = None) -> tuple[Program, Reads]:
    """`build_with_reads(module, sample=sample)`, or its result from disk if it was called before, with the same warnings.
    Raises what `build_with_reads` raises."""
    fingerprint = None if globally_hooked() else _fingerprint(module, sample)
    if fingerprint is None:
        return build_with_reads(module, sample=sample)
    path = (cache_folder() if folder is None else folder) / "translations" / _key(fingerprint)
    if (found := read(path)) is not None:
        with suppress(Exception):  # such a file counts as damaged
            program, reads = _program_and_reads(found[1], module, fingerprint)
            for message in reads.warnings:
                warnings.warn(message, stacklevel=5)
            return program, reads
    program, reads = build_with_reads(module, sample=sample)
    if not _tells_all(fingerprint, reads):
        return program, reads
    try:
        content = _content(program, reads, fingerprint)
        # What another process will read, for the same keys of what is made of it: they tell which parts are one object.
        result = _program_and_reads(content, module, fingerprint)
    except Exception:  # whatever stands in the way of keeping a program, it is there
        return program, reads
    write(path, ({}, content))
    return result


def _fingerprint(module: nn.Module, sample: Sequence[Any] | None) -> Fingerprint | None:
    """The fingerprint of a model with its sample; None if it has none."""
    try:
        return Fingerprint(module, sample)
    except Exception:  # whatever objects of the user's raise that are looked at, the front end may have no use for them
        return None


def _key(fingerprint: Fingerprint) -> str:
    settings = (str(torch.get_default_dtype()), torch.__version__, sys.version, sys.flags.optimize)
    return hashlib.sha256(repr((fingerprint.hash, versions.source_hash(), settings)).encode()).hexdigest()[:32]


def _tells_all(fingerprint: Fingerprint, reads: Reads) -> bool:
    """Whether the walk of the fingerprint has met everything that the front end has read."""
    for function, name in reads.names:
        seen = fingerprint.globals_of.get(function)
        if of_library(function.__globals__.get("__name__", "")):
            continue
        if seen is None or name not in seen and name not in function.__code__.co_freevars:
            return False
    for owner, name, _ in reads.objects:
        if isinstance(owner, types.ModuleType):
            if not of_library(owner.__name__) and name not in fingerprint.attributes_of.get(owner, ()):
                return False
        elif fingerprint.number(owner) is None:
            return False
    tables = (reads.attributes, reads.tensors, reads.constants)
    return all(fingerprint.number(cls) is not None or of_library(cls.__module__) for table in tables for cls, _ in table)


class _Pickler(pickle.Pickler):
    """Writes the number of what the fingerprint has met in its place. Raises NoFingerprint for other objects of the user's."""

    def __init__(self, file: io.BytesIO, fingerprint: Fingerprint) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self._fingerprint = fingerprint

    def persistent_id(self, x: Any) -> int | None:
        if type(x) in SCALARS or type(x) is tuple:
            return None
        number = self._fingerprint.number(x)
        return None if number is None or isinstance(x, type) and of_library(x.__module__) else number

    def reducer_override(self, x: Any) -> Any:
        if isinstance(x, type):
            if (how := remade(x)) is not None:
                return how
            home = x.__module__
        else:
            home = x.__module__ if isinstance(x, types.FunctionType) else type(x).__module__
        if not of_library(home or ""):
            raise NoFingerprint(f"a part of the program that the model does not lead to: {x!r}")
        return NotImplemented


class _Unpickler(pickle.Unpickler):
    def __init__(self, content: bytes, objects: Sequence[Any]) -> None:
        super().__init__(io.BytesIO(content))
        self._objects = objects

    def persistent_load(self, number: int) -> Any:
        return self._objects[number]


def _content(program: Program, reads: Reads, fingerprint: Fingerprint) -> bytes:
    file = io.BytesIO()
    read = (
        [*reads.attributes],
        [*reads.tensors],
        [*reads.constants],
        [*reads.names],
        [(owner, name) for owner, name, _ in reads.objects],
        reads.warnings,
    )
    _Pickler(file, fingerprint).dump(([getattr(program, name) for name in KEPT], [*program.values], read))
    return file.getvalue()


def _program_and_reads(content: bytes, module: nn.Module, fingerprint: Fingerprint) -> tuple[Program, Reads]:
    """The program and the record of what was read in a file, with the weights and other objects of the module as it is now."""
    parts, values, read = _Unpickler(content, fingerprint.objects).load()
    attributes, tensors, constants, names, objects, warned = read
    weights = dict(named_tensors(module))
    program = Program(**dict(zip(KEPT, parts, strict=True)), values={name: values_of(weights[name]) for name in values})
    reads = Reads()
    reads.warnings = warned
    reads.attributes, reads.tensors, reads.constants = (dict.fromkeys(table) for table in (attributes, tensors, constants))
    for function, name in names:
        reads.note_global(function, name, looked_up(function, name))
    for owner, name in objects:
        reads.note_object(owner, name, getattr(owner, name))
    return program, reads
