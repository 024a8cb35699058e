"""DRNN: in each round all nodes whose children are being made get their next child together, over all trees and levels.

A node whose child turns out to have children of its own begins with them in the round after, so there are about as many rounds
as the longest way through a tree has children. Both probabilities of all new nodes are read at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from backends.handbatched.products import accumulation, product
from backends.handbatched.setting import Setting
from backends.pytorch.batched import Counts
from workloads.decisions import decide, split
from workloads.drnn.model import DRNN, Rose, Sample


@dataclass
class Family:
    """A node that gets children: where they are put, its depth and key, and how many it has so far."""

    children: list[Rose]
    depth: int
    key: int
    made: int = 0


class Program:
    has_tables = False  # this model has no words

    def __init__(self, model: DRNN, setting: Setting) -> None:
        self.model = model
        library = setting.library
        self.ancestral = product(library, model.ancestral.weight, model.ancestral.bias, "sigmoid")
        self.fraternal = product(library, model.fraternal.weight, model.fraternal.bias, "sigmoid")
        of_ancestral, of_fraternal = model.join.weight.chunk(2, dim=1)
        self.join, self.add_fraternal = product(library, of_ancestral), accumulation(library, of_fraternal)
        self.topology = product(library, model.topology.weight, activation="sigmoid")
        self.output = product(library, model.output.weight)

    def run(self, minibatch: Sequence[Sample], counts: Counts) -> list[Rose]:
        roots = [Rose(sample.x, sample.h, []) for sample in minibatch]
        families = [Family(root.children, 0, sample.key) for root, sample in zip(roots, minibatch, strict=True)]
        x, h = (torch.stack([getattr(sample, name) for sample in minibatch]) for name in "xh")
        share = self.of_parents(x, h)  # the same for all children of a node
        h_parent, siblings = share, (x, h)
        while families:
            x, h_fraternal, probabilities = self.cell(h_parent, *siblings)
            counts.nodes, counts.batches = counts.nodes + len(families), counts.batches + 1
            with counts.fetching():
                values = probabilities.tolist()
            going, parents, begun = self.decided(families, values, x, h_parent)
            still = torch.tensor(going, dtype=torch.int64, device=x.device)
            new = torch.tensor(parents, dtype=torch.int64, device=x.device)
            x_new, h_new = x.index_select(0, new), h_parent.index_select(0, new)
            siblings = (
                torch.cat((x.index_select(0, still), x_new)),
                torch.cat((h_fraternal.index_select(0, still), h_new)),
            )
            h_parent = torch.cat((h_parent.index_select(0, still), self.of_parents(x_new, h_new)))
            families = [*(families[i] for i in going), *begun]
        return roots

    def of_parents(self, x: Tensor, h: Tensor) -> Tensor:
        """The ancestral states of the children of nodes with these values and states."""
        return self.ancestral(torch.cat((x, h), dim=1))

    def cell(self, h: Tensor, x_sibling: Tensor, h_sibling: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The values of the next children, their fraternal states, and the probabilities of children and of siblings."""
        h_fraternal = self.fraternal(torch.cat((x_sibling, h_sibling), dim=1))
        joint = self.join(h)
        self.add_fraternal(joint, h_fraternal)
        joint.tanh_()
        probabilities = self.topology(joint)
        sums = self.output(joint).addcmul_(probabilities[:, :1], self.model.if_parent)
        return torch.softmax(sums.addcmul_(probabilities[:, 1:], self.model.if_sibling), dim=1), h_fraternal, probabilities

    def decided(
        self, families: Sequence[Family], values: Sequence[Sequence[float]], x: Tensor, h: Tensor
    ) -> tuple[list[int], list[int], list[Family]]:
        """Puts the new children where they belong. Gives the numbers of the families that get a further child, those of the
        families whose new child gets children, and the families that these begin."""
        limit, real = self.model.limit, self.model.real
        going, parents, begun = [], [], []
        nodes = zip(families, values, x.unbind(0), h.unbind(0), strict=True)
        for i, (family, (p_parent, p_sibling), x_child, h_child) in enumerate(nodes):
            key = split(family.key, family.made)
            child = Rose(x_child, h_child, [])
            family.children.append(child)
            if decide(cast(Any, np.float64(p_parent)), 0, limit - family.depth, split(key, 0), real) > 0:
                parents.append(i)
                begun.append(Family(child.children, family.depth + 1, split(key, 2)))
            if decide(cast(Any, np.float64(p_sibling)), 0, limit - family.made, split(key, 1), real) > 0:
                going.append(i)
            family.made += 1
        return going, parents, begun
