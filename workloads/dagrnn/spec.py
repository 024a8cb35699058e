"""DAG-RNN: sizes, parameters and grids.

Hidden size 256 (small) and 512 (large), inputs as wide, as in Cortex (MLSys 2021), whose grids all have 10 x 10 cells. Here
height and width are each drawn from 6 to 14 (10 on average), so that images differ in size; at size tiny from 1 to 5. There are
33 classes, as in the SIFT Flow dataset (Liu, Yuen and Torralba 2011), on which Shuai et al. report, and 1,024 visual words, a
common size of codebooks.

| parameter | shape |
| --- | --- |
| embedding.weight | vocabulary, hidden |
| U.weight, U.bias (on the cell's own input) | hidden, hidden; hidden |
| W.weight (on the sum of the neighbours' states) | hidden, hidden |
| classifier.weight, classifier.bias | classes, hidden; classes |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from workloads.spec import ModelSpec


class Spec(ModelSpec):
    name = "dagrnn"
    model_class = "DAGRNN"
    shapes: ClassVar = {
        "tiny": {"vocabulary": 100, "hidden": 16, "classes": 7},
        "small": {"vocabulary": 1_024, "hidden": 256, "classes": 33},
        "large": {"vocabulary": 1_024, "hidden": 512, "classes": 33},
    }
    extents: ClassVar[Mapping[int, tuple[int, int]]] = {16: (1, 5), 256: (6, 14), 512: (6, 14)}
    """The smallest and the largest height and width, by hidden size."""
    gains: ClassVar = {"U": 0.5, "classifier": 3.0}
    cells = ("cell",)

    def samples(self, shape: Mapping[str, int], random: np.random.Generator, n: int) -> list[Any]:
        low, high = self.extents[shape["hidden"]]
        grids: list[Any] = []
        for _ in range(n):
            height, width = random.integers(low, high + 1, 2)
            grids.append(random.integers(shape["vocabulary"], size=(height, width)).tolist())
        return grids
