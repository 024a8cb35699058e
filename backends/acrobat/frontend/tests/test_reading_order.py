"""The order in which the evaluator's files can be read names files that there are."""

from __future__ import annotations

import re
from pathlib import Path

from backends.acrobat.frontend import evaluator


def test_each_file_stands_once_in_the_order() -> None:
    named = re.findall(r"`(\w+\.py)`", str(evaluator.__doc__).partition("The files by subject")[2])
    files = {path.name for path in Path(str(evaluator.__file__)).parent.glob("*.py")} - {"__init__.py"}
    assert len(named) == len(set(named)) > 100
    assert set(named) <= files, "these are not there any more"
