"""The document about one TreeLSTM shows what the compiler really prints."""

from __future__ import annotations

import pytest

from backends.acrobat.walkthrough import DOCUMENT, Missing, function, lines, paragraph, render


def test_the_document_is_current() -> None:
    written = DOCUMENT.read_text()
    assert render() == written, "not current: run `python -m backends.acrobat.walkthrough` and read what changed"


def test_what_a_stage_does_not_print_is_an_error() -> None:
    text = "def a()\n  x = sum(y)\n\ndef b()\n  x"
    assert paragraph(text, "def b") == "def b()\n  x"
    assert lines(text, "sum") == "x = sum(y)"
    assert function("// f, model.py:3\nint f() {\n}\n", "f").endswith("}")
    with pytest.raises(Missing, match="def c"):
        paragraph(text, "def c")
    with pytest.raises(Missing, match="linear"):
        lines(text, "linear")
    with pytest.raises(Missing, match="no function g"):
        function("// f, model.py:3\nint f() {\n}\n", "g")
