"""The style of all figures of the report: one palette that colour-blind readers can tell apart, and one set of sizes.

A system has the same colour in every figure. Figures are as wide as a column of a two-column paper or as a page, with text of a
size that can be read at that width. Text and axes have the colours `INK` and `GRID`, which occur nowhere else, so that the page
can replace them for a light and for a dark background.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

COLUMN_IN, PAGE_IN = 3.4, 7.0  # widths in inches
INK, GRID = "#1a1b1c", "#cfd0d1"
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">")

# Okabe and Ito's palette (Color Universal Design, 2008), whose colours can be told apart with any common colour blindness. Two
# are replaced: its yellow is too faint for lines on white, and its black is for text.
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
    "axes.facecolor": "none",  # shows the background of the page or of the file
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
    "pdf.fonttype": 42,  # text stays text in the file
    "svg.fonttype": "none",
    "svg.hashsalt": "report",  # makes equal figures equal files
}


@contextmanager
def applied() -> Iterator[None]:
    """A context in which figures are drawn in the report's style. Importing this file loads no matplotlib."""
    import matplotlib

    matplotlib.use("Agg")
    import seaborn as sns

    with sns.axes_style("whitegrid"), matplotlib.rc_context(cast("Any", SETTINGS)):
        yield


def palette(names: Sequence[str]) -> dict[str, str]:
    """A colour for each name. The name of a system gets the system's colour. Other names get colours that no system among the
    names has, as long as there are any."""
    colours = {name: SYSTEMS[key] for name in names for key in [re.sub(r"[^a-z]", "", name.lower())] if key in SYSTEMS}
    others = [COLOURS[i] for i in (4, 2, 3, 6, 7, 0, 1, 5) if COLOURS[i] not in colours.values()] or list(COLOURS)
    free = iter(others * len(names))
    return {name: colours.get(name) or next(free) for name in names}
