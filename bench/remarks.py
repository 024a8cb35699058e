"""Remarks about several rows that say the same are one line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bench.campaign import Row
from bench.record import label

NUMBER = re.compile(r"(?<![\w.=/:-])\d[\d,]*(?:\.\d+)?(?![\w:/-])")  # one that is measured, not part of a name, date or path


def merged(said: Sequence[tuple[Row, str]], rows: Sequence[Row]) -> list[str]:
    """`said`: what there is to say of which row. What is said of several rows in the same words, though perhaps with other
    numbers, is one line, with the least and the largest number; where it holds for all variants of a backend, these are not
    listed."""
    texts: dict[str, list[tuple[Row, str]]] = {}
    for row, text in said:
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
    """The first text, in place of each number the range of it over all."""
    found = [NUMBER.findall(text) for text in texts]
    columns = iter(list(zip(*found, strict=True)))

    def spell(_: re.Match[str]) -> str:
        values = sorted(set(next(columns)), key=lambda number: float(number.replace(",", "")))
        return values[0] if len(values) == 1 else f"{values[0]} to {values[-1]}"

    return NUMBER.sub(spell, texts[0])
