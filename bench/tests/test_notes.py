"""The lines below a table."""

from __future__ import annotations

from bench.notes import LONGEST_OPERATOR, in_short


def test_an_operator_of_many_operands_is_named_by_its_beginning() -> None:
    many = f"concat({{{','.join(['a'] * 2000)}}}, 1)"
    assert in_short("a + b") == "a + b"
    assert in_short(many).startswith("concat({a,a,")
    assert len(in_short(many)) == LONGEST_OPERATOR + len("...")
