"""What makes builds cheaper for all tests of the compiler."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from backends.acrobat import builds
from backends.acrobat.codegen.build import compile_model
from backends.acrobat.tests.native_batches import precompiled


@pytest.fixture(scope="session", autouse=True)
def headers_are_read_once() -> Iterator[None]:
    """Of the time that a build takes, a third is reading the headers of the runtime, which are the same for every program. So a
    test run has the compiler read them once. Builds with flags of their own, as the sanitizers', read them as ever."""

    def build(source: Path, objects: Sequence[Path], target: Path, flags: Sequence[str] = ()) -> None:
        compile_model(source, objects, target, flags or ("-include", str(precompiled(()))))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builds, "compile_model", build)
        yield
