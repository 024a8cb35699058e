"""Writes `docs/treelstm.md`."""

from backends.acrobat.walkthrough import DOCUMENT, render

DOCUMENT.write_text(render())
print(f"wrote {DOCUMENT}")
