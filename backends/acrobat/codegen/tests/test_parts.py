"""C++ in parts: text that meets text is one part, and what has other parts is never taken for text."""

from __future__ import annotations

import pytest

from backends.acrobat.codegen.parts import CallOf, CodeInParts, Number, call_of, cpp, listed


def test_text_that_meets_text_is_one_part() -> None:
    inner = cpp("at(", Number(3), ")")
    assert cpp("a", "", "b") == "ab"
    assert cpp() == ""
    assert cpp("x + ", inner, " + y") == CodeInParts(("x + at(", Number(3), ") + y"))
    assert cpp(Number(1), "", Number(1)) == CodeInParts((Number(1), Number(1)))


def test_lists_and_calls() -> None:
    assert listed(["a"]) == "a"
    assert call_of("f", ["a", "b"]) == "f(a, b)"
    assert call_of("f", [CallOf("g"), Number(2)]) == CodeInParts(("f(", CallOf("g"), ", ", Number(2), ")"))


def test_code_in_parts_is_no_text() -> None:
    code = cpp("at(", Number(3), ")")
    assert "at" in code and "3" not in code
    with pytest.raises(TypeError, match="no text yet"):
        f"{code}"
