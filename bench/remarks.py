"""Merges remarks that say the same about several rows into one line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bench.campaign import Row
from bench.record import label

NUMBER = re.compile(r"(?<![\w.=/:-])\d[\d,]*(?:\.\d+)?(?![\w:/-])")  # a measured one, not part of a name, date or path


def merged(remarks: Sequence[tuple[Row, str]], rows: Sequence[Row]) -> list[str]:
    """The lines for `remarks`, each a row with a text. Texts that differ only in their numbers become one line that
    names their rows and has the least and the largest number. A backend of which all variants in `rows` are meant is named
    once."""
    texts: dict[str, list[tuple[Row, str]]] = {}
    for row, text in remarks:
        texts.setdefault(NUMBER.sub("#", text), []).append((row, text))
    return [f"{_names([row for row, _ in same], rows)}: {_ranges([text for _, text in same])}" for same in texts.values()]


def _names(chosen: Sequence[Row], rows: Sequence[Row]) -> str:
    names = []
    for backend in dict.fromkeys(row.cell.backend.name for row in chosen):
        variants = list(dict.fromkeys(label(row.cell) for row in chosen if row.cell.backend.name == backend))
        all_variants = {label(row.cell) for row in rows if row.cell.backend.name == backend}
        names.append(
            f"{backend} (all variants)" if len(variants) > 1 and len(variants) == len(all_variants) else ", ".join(variants)
        )
    return ", ".join(names)


def _ranges(texts: Sequence[str]) -> str:
    """The first text, with each number replaced by its range over all texts."""
    numbers = [NUMBER.findall(text) for text in texts]
    columns = iter(list(zip(*numbers, strict=True)))

    def spell(_: re.Match[str]) -> str:
        values = sorted(set(next(columns)), key=lambda number: float(number.replace(",", "")))
        return values[0] if len(values) == 1 else f"{values[0]} to {values[-1]}"

    return NUMBER.sub(spell, texts[0])
