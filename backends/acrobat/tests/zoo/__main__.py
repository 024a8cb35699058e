"""`python -m backends.acrobat.tests.zoo [--speed] [NAME...]`: which models compile unchanged, and why the others do not; with
`--speed` also how much faster than eager PyTorch they are. The table of all goes to `results/<machine>/zoo.csv` and `zoo.md`,
one of some to another folder of results, where one is named."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from backends.acrobat.errors import CompileError
from backends.acrobat.tests.zoo.check import check
from backends.acrobat.tests.zoo.models import CASES
from backends.acrobat.tests.zoo.speed import Speed, measure, write
from bench import machine


def main(arguments: list[str]) -> int:
    """Prints a line for each model and the rate; the exit status is 1 if a result was wrong, 2 for an unknown name."""
    parser = argparse.ArgumentParser(prog="python -m backends.acrobat.tests.zoo", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="models, by default all")
    parser.add_argument(
        "--speed", action="store_true", help="measure against eager PyTorch; the whole zoo takes about 8 minutes"
    )
    parser.add_argument("--results", type=Path, help="the folder of results, by default the project's")
    options = parser.parse_args(arguments)
    if unknown := set(options.names) - {case.name for case in CASES}:
        parser.error(f"the zoo has no {', '.join(sorted(unknown))}")
    chosen = [case for case in CASES if not options.names or case.name in options.names]
    compiled = wrong = 0
    speeds: list[Speed] = []
    with tempfile.TemporaryDirectory() as folder:
        for case in chosen:
            try:
                if options.speed:
                    speeds.append(measure(case, Path(folder)))
                    found = speeds[-1]
                    verdict = f"{found.eager_ms:9.2f} ms eager, {found.acrobat_ms:8.3f} ms, {found.speed_up:6.1f} times faster"
                else:
                    check(case, Path(folder))
                    verdict = "compiles unchanged"
            except CompileError as error:
                verdict = f"refused: {str(error).strip().splitlines()[0]}"
                speeds.append(Speed(case.name, why=verdict))
            except AssertionError as error:
                wrong += 1
                verdict = f"WRONG: {error}"
                speeds.append(Speed(case.name, why=verdict))
            else:
                compiled += 1
            print(f"{case.name:32} {verdict}", flush=True)
    print(f"{compiled} of {len(chosen)} compile unchanged, {wrong} are wrong")
    if options.speed and (options.results or not options.names):
        print("written:", *write(speeds, (options.results or machine.ROOT / "results") / machine.name()))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
