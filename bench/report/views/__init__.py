"""The ways to show an experiment: a function for each `view` that a file in `conf/experiment` may name.

Each takes the section of an experiment with its rows, and adds tables and figures made from these rows, and what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bench.report.experiments import Experiment
from bench.report.section import Section, holes
from bench.report.views import ablation, breakdown, comparison, curve, energy, properties, roofline

VIEWS: Mapping[str, Callable[[Section], None]] = {
    "comparison": comparison.view,
    "breakdown": breakdown.view,
    "ablation": ablation.view,
    "curve": curve.view,
    "properties": properties.view,
    "roofline": roofline.view,
    "energy": energy.view,
}


def show(experiment: Experiment) -> Section:
    """The section of an experiment, by the view that its file names. Raises ValueError if there is no such view."""
    name = str(experiment.report.get("view"))
    if name not in VIEWS:
        raise ValueError(f"conf/experiment/{experiment.name}.yaml: report.view is {name}, which is none of {', '.join(VIEWS)}")
    section = Section(experiment, holes=holes(experiment))
    VIEWS[name](section)
    return section
