"""Runs cases in a separate process, because DyNet's settings hold for a process: `child.py <autobatch> <cases> <results>`, both
files pickles. DyNet must not see any further arguments."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

from backends.dynet.backend import DyNet
from backends.dynet.tests.cases import Case
from bench.contract import Target, Unsupported
from bench.outputs import fingerprint
from workloads.tests.conftest import spec


def run(autobatch: Any, case: Case) -> dict[str, Any]:
    workload = spec(case.workload, **case.options)
    try:
        compiled = DyNet(Target(threads=2), autobatch=autobatch, tables=case.tables, formulation=case.formulation).compile(
            workload, "tiny", 0, max(len(case.instances), 1)
        )
    except Unsupported as error:
        return {"unsupported": str(error)}
    placed = compiled.place(case.instances)
    before = fingerprint(placed)
    first = compiled.fetch(compiled.run(list(placed)))
    compiled.run(placed[:1])
    outputs = compiled.run(list(placed))
    outcome: dict[str, Any] = {"outputs": compiled.fetch(outputs), "again": compiled.fetch(outputs), "first": first}
    outcome |= {
        "counters": dict(compiled.counters()),
        "facts": dict(compiled.facts()),
        "unchanged": fingerprint(placed) == before,
    }
    compiled.close()
    return outcome


def main() -> None:
    autobatch = int(sys.argv[1])
    cases: dict[str, Case] = pickle.loads(Path(sys.argv[2]).read_bytes())
    results: dict[str, Any] = {name: run(autobatch, case) for name, case in cases.items()}
    try:
        run((autobatch + 1) % 4, cases["birnn"])
    except RuntimeError as error:
        results["started twice"] = str(error)
    Path(sys.argv[3]).write_bytes(pickle.dumps(results))


if __name__ == "__main__":
    main()
