"""`python -m backends.acrobat.tests.zoo [NAME...]`: which models compile unchanged, and why the others do not."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from backends.acrobat.errors import CompileError
from backends.acrobat.tests.zoo.check import check
from backends.acrobat.tests.zoo.models import CASES


def main() -> int:
    """Prints a line for each model and the rate; the exit status is 1 if a result was wrong."""
    chosen = [case for case in CASES if not sys.argv[1:] or case.name in sys.argv[1:]]
    compiled = wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for case in chosen:
            try:
                check(case, Path(folder))
            except CompileError as error:
                verdict = f"refused: {str(error).strip().splitlines()[0]}"
            except AssertionError as error:
                wrong += 1
                verdict = f"WRONG: {error}"
            else:
                compiled += 1
                verdict = "compiles unchanged"
            print(f"{case.name:32} {verdict}", flush=True)
    print(f"{compiled} of {len(chosen)} compile unchanged, {wrong} are wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
