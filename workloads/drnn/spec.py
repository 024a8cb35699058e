"""DRNN: sizes, parameters and random inputs.

Hidden size 256 (small) and 512 (large); at most four levels and four children to a node, as in ACRoBat's code, which gives
trees of about 25 nodes below the root. An input is the root's output, a random distribution, and its state, uniform in [0, 1].

| parameter | shape |
| --- | --- |
| ancestral.weight, fraternal.weight (columns: output, then state); their biases | hidden, 2 hidden; hidden |
| join.weight (columns: ancestral, then fraternal) | hidden, 2 hidden |
| topology.weight (rows: has children, has a further sibling) | 2, hidden |
| output.weight | hidden, hidden |
| if_parent, if_sibling | hidden |

A node's output is a distribution over `hidden` elements, about 1 / hidden each, so weights that multiply it are drawn larger.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from workloads.spec import Decisions, ModelSpec, draw_key

if TYPE_CHECKING:
    from workloads.drnn.model import Sample


class Spec(ModelSpec):
    """`decisions`: `simulated` ones are hashed from the sample's key, `real` ones follow from the computed probability."""

    name = "drnn"
    model_class = "DRNN"
    shapes: ClassVar = {
        "tiny": {"hidden": 16, "limit": 3},
        "small": {"hidden": 256, "limit": 3},
        "large": {"hidden": 512, "limit": 3},
    }
    gains: ClassVar = {"join": 1.5, "topology": 2.0, "output": 1.5}
    cells = ("cell",)

    def __init__(self, decisions: Decisions = "simulated") -> None:
        self.decisions = decisions

    def model_options(self) -> Mapping[str, Any]:
        return {"real": self.decisions == "real"}

    def params(self, size: str, seed: int) -> dict[str, np.ndarray]:
        params = super().params(size, seed)
        hidden = self.shape(size)["hidden"]
        for name in ("ancestral.weight", "fraternal.weight"):
            params[name][:, :hidden] *= hidden
        return params

    def samples(self, shape: Mapping[str, int], random: np.random.Generator, n: int) -> list[Any]:
        return [self.sample(shape["hidden"], random) for _ in range(n)]

    def sample(self, hidden: int, random: np.random.Generator) -> Sample:
        import torch

        from workloads.drnn.model import Sample

        x = torch.from_numpy(random.standard_normal(hidden, dtype=np.float32))
        h = torch.from_numpy(random.random(hidden, dtype=np.float32))
        return Sample(torch.softmax(x, dim=-1), h, draw_key(random))
