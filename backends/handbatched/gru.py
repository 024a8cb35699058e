"""A gated recurrent unit on many rows. The products of all inputs are computed at once, or looked up, which leaves two products
for each step."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from backends.handbatched.products import product
from backends.handbatched.setting import Setting
from backends.handbatched.words import WordProducts
from workloads.seq2seq.model import GRU


class Steps:
    """The unit `cell`. `words` is the table with a row for each word that the unit can read."""

    def __init__(self, cell: GRU, words: Tensor, setting: Setting) -> None:
        self.hidden = words.shape[1]
        (z_in, z_state), (r_in, r_state), (c_in, c_state) = (
            gate.weight.chunk(2, dim=1) for gate in (cell.update, cell.reset, cell.candidate)
        )
        bias = torch.cat((cell.update.bias, cell.reset.bias, cell.candidate.bias))
        self.inputs = WordProducts(setting, words, torch.cat((z_in, r_in, c_in)), bias)
        self.gates = product(setting.library, torch.cat((z_state, r_state)))
        self.candidate = product(setting.library, c_state)

    def shares(self, words: Tensor) -> Tensor:
        """The words' products with the weights of the three gates, biases included: [words, 3 hidden]."""
        return self.inputs(words)

    def step(self, share: Tensor, state: Tensor) -> Tensor:
        """The next states, from the rows of `shares` and the states [n, hidden]."""
        gates = self.gates(state).add_(share[:, : 2 * self.hidden]).sigmoid_()
        z, r = gates[:, : self.hidden], gates[:, self.hidden :]
        candidate = self.candidate(r * state).add_(share[:, 2 * self.hidden :]).tanh_()
        return torch.lerp(state, candidate, z)

    def read(self, words: Tensor, steps: Sequence[int], start: Tensor) -> tuple[Tensor, Tensor]:
        """All states of packed sentences, padded with zeros, [sentences, steps, hidden], and the last state of each,
        [sentences, hidden]. The longest sentence comes first."""
        padded = start.new_zeros(steps[0], len(steps), self.hidden)
        state = start.repeat(steps[0], 1)
        for number, share in enumerate(self.shares(words).split(list(steps))):
            going = len(share)
            state[:going] = self.step(share, state[:going])
            padded[:going, number] = state[:going]
        return padded, state
