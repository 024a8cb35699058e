"""The three kinds of figures (bars, lines, stacked bars), drawn from frames of pandas, and their files: PDF, PNG, CSV, and SVG
for the page.

A figure has a point for each mark, with the keys `x`, `y`, `low` and `high` (the ends of the 95 % interval; NaN where there is
none), `hue` (the system or variant), `panel` and `rows` (references of the rows that the number was made from). Points of
stacked bars have `part` and `total` too.
"""

from __future__ import annotations

import io
import math
import os
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from bench.report import style

if TYPE_CHECKING:
    import pandas

MOST_COLUMNS = 4  # so many panels may stand side by side
FEW = 4  # where an axis has so few values or fewer, it is marked at exactly these
Kind: TypeAlias = Literal["pdf", "png", "svg"]
METADATA: Mapping[Kind, dict[str, Any]] = {"pdf": {"CreationDate": None}, "png": {}, "svg": {"Date": None}}
"""Without a date, equal figures are equal files."""


def point(panel: str, x: Any, hue: str, y: float, low: float, high: float, rows: str) -> dict[str, Any]:
    """A point or bar of the series `hue` with the ends of its interval; `rows` names the rows of results that it comes from."""
    return {"panel": panel, "x": x, "hue": hue, "y": y, "low": low, "high": high, "rows": rows}


@dataclass
class Figure:
    """What is drawn, and how; `points` are as described above."""

    name: str  # the name of its files
    title: str
    points: Sequence[Mapping[str, Any]]
    kind: Literal["bars", "lines", "stacks"]
    x: str  # the labels of the axes, with units
    y: str
    legend: str = ""
    log_x: bool = False
    log_y: bool = False
    reference: float | None = None  # the height of a dotted line across, such as 1 for ratios
    own_scale: bool = True  # whether each panel has a y axis of its own
    notes: list[str] = field(default_factory=list)

    @cached_property
    def frame(self) -> pandas.DataFrame:
        """A line for each point."""
        import pandas as pd

        return pd.DataFrame(self.points)

    @property
    def rows(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(ref for each in self.points for ref in str(each["rows"]).split()))

    @property
    def narrow(self) -> bool:
        """Whether the figure fits into a column of a two-column paper."""
        groups = max(len(own["x"].unique()) for _, own in self.frame.groupby("panel"))
        bars = groups * len(self.frame["hue"].unique())
        return len(self.frame["panel"].unique()) == 1 and (self.kind == "lines" or bars <= 10)

    def csv(self) -> str:
        return str(self.frame.to_csv(index=False))

    def write(self, kind: Kind) -> bytes:
        return self.files[kind]

    @cached_property
    def files(self) -> dict[Kind, bytes]:
        """The content of the figure's file in each format; the figure is drawn once for all."""
        contents: dict[Kind, bytes] = {}
        with style.applied():
            for kind, metadata in METADATA.items():
                out = io.BytesIO()
                self._canvas.savefig(out, format=kind, metadata=metadata, facecolor="none" if kind == "svg" else "white")
                contents[kind] = out.getvalue()
        del self._canvas
        return contents

    @cached_property
    def _canvas(self) -> Any:
        from matplotlib.figure import Figure as Canvas

        panels = list(dict.fromkeys(self.frame["panel"]))
        hues = list(dict.fromkeys(self.frame["hue"]))
        groups = max(len(self.frame[self.frame["panel"] == p]["x"].unique()) for p in panels)
        wide = not self.narrow
        across = min(len(panels), MOST_COLUMNS if self.kind == "lines" or groups <= 4 else 2)
        down = math.ceil(len(panels) / across)
        width = style.PAGE_IN if wide else style.COLUMN_IN
        canvas = Canvas(figsize=(width, (1.75 if down > 1 else 2.2) * down + 0.45), layout="constrained")
        grid = canvas.subplots(down, across, squeeze=False, sharey=not self.own_scale)
        handles: dict[str, Any] = {}
        for index, panel in enumerate(panels):
            axes = grid[index // across][index % across]
            own = self.frame[self.frame["panel"] == panel]
            handles |= {"bars": self._bars, "lines": self._lines, "stacks": self._stacks}[self.kind](axes, own, hues)
            axes.set_title(str(panel)) if len(panels) > 1 or panel else None
            self._axes(axes, index, across, index + across >= len(panels))
        for index in range(len(panels), down * across):
            grid[index // across][index % across].set_visible(False)
        if len(handles) > 1:
            columns = min(len(handles), 6 if wide else 3)
            canvas.legend(
                handles.values(), handles.keys(), loc="outside lower center", ncols=columns, title=self.legend or None
            )
        canvas.draw_without_rendering()  # computes the layout, once for all files
        canvas.set_layout_engine("none")
        return canvas

    def _axes(self, axes: Any, index: int, across: int, last: bool) -> None:
        from matplotlib.ticker import FuncFormatter, NullFormatter

        axes.set_xlabel(self.x if last else "")
        axes.set_ylabel(self.y if index % across == 0 else "")
        if self.log_y:
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            low, high = axes.get_ylim()
            if high / low < 100:  # less than two decades, for which marks at powers of ten would be too few
                axes.yaxis.set_minor_formatter(
                    FuncFormatter(lambda value, _: f"{value:g}" if _leading(value) in (2, 5) else "")
                )
                axes.tick_params(axis="y", which="minor", labelsize=6.5)
        if self.log_x:
            values = sorted(set(self.frame["x"]))
            axes.set_xscale("log", base=2)
            axes.set_xticks(values if len(values) <= 7 else values[::2])
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axes.xaxis.set_minor_formatter(NullFormatter())
        elif self.kind == "lines" and self.frame["x"].nunique() <= FEW:
            axes.set_xticks(sorted(set(self.frame["x"])))
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        if self.reference is not None:
            axes.axhline(self.reference, color=style.INK, linewidth=0.8, linestyle=":")
        axes.margins(x=0.04)
        if self.kind != "lines":
            axes.grid(visible=False, axis="x")

    def _bars(self, axes: Any, own: pandas.DataFrame, hues: Sequence[str]) -> dict[str, Any]:
        import seaborn as sns

        order = list(dict.fromkeys(own["x"]))
        present = [hue for hue in hues if hue in set(own["hue"])]
        colours = style.palette(hues)
        sns.barplot(
            own, x="x", y="y", hue="hue", order=order, hue_order=present, palette=colours, errorbar=None, ax=axes,
            saturation=1, legend=False, edgecolor="white", linewidth=0.4,
        )  # fmt: skip
        width = 0.8 / len(present)
        for k, hue in enumerate(present):
            chosen = own[own["hue"] == hue]
            places = [order.index(x) - 0.4 + width * (k + 0.5) for x in chosen["x"]]
            axes.errorbar(places, chosen["y"], yerr=_beyond(chosen), fmt="none", ecolor=style.INK, elinewidth=0.7, capsize=1.5)
        _label_bars(axes, order)
        return _patches(colours, present)

    def _lines(self, axes: Any, own: pandas.DataFrame, hues: Sequence[str]) -> dict[str, Any]:
        import seaborn as sns

        colours = style.palette(hues)
        marks = {hue: style.MARKERS[i % len(style.MARKERS)] for i, hue in enumerate(hues)}
        sns.lineplot(
            own, x="x", y="y", hue="hue", style="hue", palette=colours, markers=marks, dashes=False, errorbar=None, ax=axes,
            legend=False, markeredgewidth=0.3,
        )  # fmt: skip
        from matplotlib.lines import Line2D

        handles = {}
        for hue in hues:
            chosen = own[own["hue"] == hue]
            if len(chosen):
                axes.errorbar(
                    chosen["x"], chosen["y"], yerr=_beyond(chosen), fmt="none", ecolor=colours[hue], elinewidth=0.8, capsize=1.8
                )
                handles[hue] = Line2D([], [], color=colours[hue], marker=marks[hue])
        return handles

    def _stacks(self, axes: Any, own: pandas.DataFrame, _: Sequence[str]) -> dict[str, Any]:
        """A bar for each `x` and `hue`, with its `part`s stacked on each other."""
        parts = list(dict.fromkeys(self.frame["part"]))
        colours = style.palette(parts)
        bars = list(dict.fromkeys(zip(own["x"], own["hue"], strict=True)))
        for position, (x, hue) in enumerate(bars):
            below = 0.0
            for part in parts:
                chosen = own[(own["x"] == x) & (own["hue"] == hue) & (own["part"] == part)]
                height = float(chosen["y"].sum())
                axes.bar(position, height, 0.7, bottom=below, color=colours[part], edgecolor="white", linewidth=0.4)
                below += height
            total = own[(own["x"] == x) & (own["hue"] == hue)].iloc[0]
            if math.isfinite(total["low"]):
                beyond = [[max(0.0, total["total"] - total["low"])], [max(0.0, total["high"] - total["total"])]]
                axes.errorbar(position, total["total"], yerr=beyond, fmt="none", ecolor=style.INK, elinewidth=0.7, capsize=1.5)
        axes.set_xticks(range(len(bars)))
        _label_bars(axes, [f"{x}\n{hue}" if x else hue for x, hue in bars])
        return _patches(colours, parts)


def draw(figures: Sequence[Figure]) -> None:
    """Draw all figures, as many at once as there are processors, because drawing takes most of the time of a report."""
    workers = min(len(figures), len(os.sched_getaffinity(0)))
    if workers < 2:
        return  # a figure that is not drawn yet is drawn on first use
    with ProcessPoolExecutor(workers, get_context("fork")) as pool:
        for figure, files in zip(figures, pool.map(_files, figures), strict=True):
            figure.__dict__["files"] = files


def _files(figure: Figure) -> dict[Kind, bytes]:
    return figure.files


def inline(svg: bytes, prefix: str) -> str:
    """The SVG as text for a page: without head and size, with unique ids that begin with `prefix`, in the page's colours."""
    text = svg.decode()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'(\bid=")', rf"\g<1>{prefix}-", text)
    text = re.sub(r'(xlink:href="#|href="#|url\(#)', rf"\g<1>{prefix}-", text)
    text = text.replace(f"{prefix}-{prefix}-", f"{prefix}-")
    text = re.sub(r'<svg ([^>]*?)width="[^"]*"', r"<svg \1", text, count=1)
    text = re.sub(r'<svg ([^>]*?)height="[^"]*"', r"<svg \1", text, count=1)
    text = text.replace(style.INK, "currentColor").replace(style.GRID, "var(--grid)")
    return re.sub(r"font: ([0-9.]+px) [^;\"]*", r"font: \1 sans-serif", text)


def _beyond(chosen: pandas.DataFrame) -> list[Any]:
    """How far the interval reaches below and above the number; 0 where there is no interval."""
    return [
        (chosen["y"] - chosen["low"]).clip(lower=0).fillna(0.0).to_numpy(),
        (chosen["high"] - chosen["y"]).clip(lower=0).fillna(0.0).to_numpy(),
    ]


def _patches(colours: dict[str, str], names: Sequence[str]) -> dict[str, Any]:
    from matplotlib.patches import Patch

    return {name: Patch(facecolor=colours[name], edgecolor="white") for name in names}


def _label_bars(axes: Any, labels: Sequence[Any]) -> None:
    """Set the labels under the bars, slanted where they would overlap."""
    axes.set_xticks(range(len(labels)))
    longest = max((len(part) for label in labels for part in str(label).split("\n")), default=0)
    room = axes.get_figure().get_size_inches()[0] * 13 / max(1, len(axes.get_figure().axes[:MOST_COLUMNS]))
    slanted = longest * len(labels) > room
    axes.set_xticklabels(
        labels,
        rotation=35 if slanted else 0,
        ha="right" if slanted else "center",
        rotation_mode="anchor" if slanted else "default",
    )


def _leading(value: float) -> int:
    return round(value / 10 ** math.floor(math.log10(value))) if value > 0 else 0
