"""A table of the report, and its forms: Markdown, LaTeX (booktabs), CSV. The page's template makes the HTML."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

FLAGGED = "†"
APART = "‡"
SAME = "≈"
EXPLAINED = {
    FLAGGED: "something was noticed while it was measured: the flags of its rows say what",
    APART: "rows of different sessions: no interval, and what changed between the sessions is in the number",
    SAME: "no significant difference: the 95 % interval of the ratio holds 1",
}


@dataclass(frozen=True)
class Value:
    """One cell of a table: the text, its number (for sorting and CSV; None for words), the references of the rows that it was
    made from, and marks after the text (`EXPLAINED` says what they mean)."""

    text: str
    number: float | None = None
    rows: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        return self.text + "".join(self.marks)


@dataclass(frozen=True)
class Line:
    """A line of a table. `command` measures its cells. A `total` line has means, and stays below the others when sorted."""

    values: Sequence[Value]
    command: str = ""
    total: bool = False

    @property
    def span(self) -> int:
        """The number of columns that the first cell of a total may extend over: its own and the empty ones after it."""
        empty = 1
        while self.total and empty < len(self.values) and not self.values[empty].shown:
            empty += 1
        return empty


@dataclass
class Table:
    """A table as values, from which each of its forms is made."""

    name: str  # the name of its files
    title: str
    columns: Sequence[str]  # the headings, with units
    lines: list[Line] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def explained(self) -> list[str]:
        """The notes, and an explanation of each mark in the table."""
        used = dict.fromkeys(mark for line in self.lines for value in line.values for mark in value.marks)
        return [*self.notes, *(f"{mark} {EXPLAINED[mark]}" for mark in EXPLAINED if mark in used)]

    @property
    def rows(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(ref for line in self.lines for value in line.values for ref in value.rows))


def quantity(number: float | None, rows: tuple[str, ...] = (), digits: int = 3) -> Value:
    """A number with so many significant digits; an empty cell for None and for numbers that are not finite."""
    if number is None or not math.isfinite(number):
        return Value("", None, rows)
    return Value(spelled(number, digits), number, rows)


def with_interval(number: float, low: float, high: float, rows: tuple[str, ...], marks: tuple[str, ...] = ()) -> Value:
    """A number with the half-width of its interval relative to it, as in `4.21 ±1.2%`."""
    text = spelled(number)
    if math.isfinite(low) and math.isfinite(high):
        text += f" ±{(high - low) / 2 / number:.1%}"
    return Value(text, number, rows, marks)


def spelled(number: float, digits: int = 3) -> str:
    """The number with so many significant digits; with an exponent only if it is very small."""
    if number == 0:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(number))))
    if decimals > 6:
        return f"{number:.{digits - 1}e}"
    return f"{round(number, digits - 1 - math.floor(math.log10(abs(number)))):,.{decimals}f}"


def markdown(table: Table) -> str:
    """The table in Markdown: the title, the lines, and the notes as a list."""

    def cells(texts: Sequence[str]) -> str:
        return "| " + " | ".join(text.replace("|", "\\|").replace("\n", " ") for text in texts) + " |"

    numeric = _numeric(table)
    lines = [f"**{table.title}**", "", cells(table.columns)]
    lines.append("|" + "|".join(" ---: " if right else " --- " for right in numeric) + "|")
    lines += [cells([_bold(value.shown, line.total) for value in line.values]) for line in table.lines]
    notes = table.explained
    return "\n".join([*lines, *(["", *(f"- {note}" for note in notes)] if notes else [])]) + "\n"


def latex(table: Table) -> str:
    """A LaTeX `table` environment with booktabs; the preamble needs `\\usepackage{booktabs}`."""
    columns = "".join("r" if right else "l" for right in _numeric(table))
    lines = ["\\begin{table}", "\\centering", f"\\caption{{{tex(table.title)}}}", f"\\label{{tab:{table.name}}}"]
    lines += [f"\\begin{{tabular}}{{{columns}}}", "\\toprule", " & ".join(map(tex, table.columns)) + " \\\\", "\\midrule"]
    before = False
    for line in table.lines:
        if line.total and not before and line is not table.lines[0]:
            lines.append("\\midrule")
        before = line.total
        lines.append(" & ".join(tex(value.shown) for value in line.values) + " \\\\")
    lines += ["\\bottomrule", "\\end{tabular}"]
    if table.explained:
        lines += ["", "\\smallskip", "\\begin{minipage}{\\linewidth}\\footnotesize"]
        lines += [tex(note) + " \\\\" for note in table.explained[:-1]] + [tex(table.explained[-1])]
        lines += ["\\end{minipage}"]
    return "\n".join([*lines, "\\end{table}"]) + "\n"


TEX: Mapping[str, str] = {
    "\\": "\\textbackslash{}",
    "&": "\\&",
    "%": "\\%",
    "$": "\\$",
    "#": "\\#",
    "_": "\\_",
    "{": "\\{",
    "}": "\\}",
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    "±": "$\\pm$",
    "×": "$\\times$",
    "≈": "$\\approx$",
    "†": "$\\dagger$",
    "‡": "$\\ddagger$",
    "–": "--",
    "−": "$-$",
}


def tex(text: str) -> str:
    return "".join(TEX.get(character, character) for character in text)


def comma_separated(table: Table) -> str:
    """The table as CSV, in full precision. Two more columns have the meaning of the marks, and the references of the rows."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*table.columns, "marks", "rows"])
    for line in table.lines:
        texts = [value.text if value.number is None else repr(value.number) for value in line.values]
        marks = "; ".join(dict.fromkeys(EXPLAINED[m].partition(":")[0] for value in line.values for m in value.marks))
        writer.writerow([*texts, marks, " ".join(dict.fromkeys(ref for value in line.values for ref in value.rows))])
    return out.getvalue()


def _numeric(table: Table) -> list[bool]:
    """For each column whether it has numbers."""
    columns = [[line.values[i] for line in table.lines] for i in range(len(table.columns))]
    return [any(value.number is not None for value in column) for column in columns]


def _bold(text: str, bold: bool) -> str:
    return f"**{text}**" if bold and text else text
