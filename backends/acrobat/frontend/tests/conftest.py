"""Which of the front end's tests are left to `scripts/exhaustive`.

A model's program is interpreted in one test. Others run it natively, by C++ and by bytecode, which are printed from the
same schedule: what goes wrong in one of them mostly goes wrong in both. So of those with bytecode only about every fourth
is always run, chosen by the names of the tests."""

from __future__ import annotations

from pathlib import Path
from zlib import crc32

import pytest

ONE_OF = 4


@pytest.hookimpl(tryfirst=True)  # before pytest leaves out what is marked
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        here = Path(__file__).parent in item.path.parents
        if here and parameters.get("codegen") == "vm" and crc32(item.nodeid.encode()) % ONE_OF:
            item.add_marker(pytest.mark.exhaustive)
