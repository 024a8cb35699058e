"""How every figure of the report looks: one palette that colour-blind readers can tell apart, one set of sizes.

A system has the same colour in every figure. Figures are as wide as a column of a two-column paper or as a page, with type
that can be read at that width. Text and axes have colours of their own (`INK`, `GRID`), which the page replaces so that the
same figure can be read on a light and on a dark ground.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

COLUMN_IN, PAGE_IN = 3.4, 7.0  # widths in inches
INK, GRID = "#1a1b1c", "#cfd0d1"
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">")

# Okabe and Ito's palette (Color Universal Design, 2008): told apart with any of the common colour blindnesses. Its yellow is
# too faint for lines on white and its black is kept for text.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C6D31", "#7F7F7F")
SYSTEMS = {
    "acrobat": COLOURS[0],
    "dynet": COLOURS[1],
    "cortex": COLOURS[2],
    "jitbatch": COLOURS[3],
    "justintimebatching": COLOURS[3],
    "handbatched": COLOURS[4],
    "pytorch": COLOURS[5],
    "dgl": COLOURS[6],
    "torchfold": COLOURS[7],
}

SETTINGS: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.size": 7.5,
    "axes.titlesize": 7.5,
    "axes.labelsize": 7.5,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.title_fontsize": 7,
    "legend.frameon": False,
    "lines.linewidth": 1.3,
    "lines.markersize": 3.5,
    "axes.linewidth": 0.6,
    "axes.edgecolor": INK,
    "axes.facecolor": "none",  # the ground of the page, or of the file
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": GRID,
    "grid.linewidth": 0.5,
    "axes.axisbelow": True,
    "figure.dpi": 200,
    "savefig.dpi": 200,
    "pdf.fonttype": 42,  # type that stays text in the file
    "svg.fonttype": "none",
    "svg.hashsalt": "report",  # equal figures are equal files
}


@contextmanager
def applied() -> Iterator[None]:
    import matplotlib

    matplotlib.use("Agg")
    import seaborn as sns

    with sns.axes_style("whitegrid"), matplotlib.rc_context(cast("Any", SETTINGS)):
        yield


def palette(names: Sequence[str]) -> dict[str, str]:
    """A colour for each name: a system's own where the name is that of a system, for others one that no system among the names
    has, as far as there are such."""
    found = {name: SYSTEMS[key] for name in names for key in [re.sub(r"[^a-z]", "", name.lower())] if key in SYSTEMS}
    others = [COLOURS[i] for i in (4, 2, 3, 6, 7, 0, 1, 5) if COLOURS[i] not in found.values()] or list(COLOURS)
    free = iter(others * len(names))
    return {name: found.get(name) or next(free) for name in names}
