"""Causal masks of sequences that grow, and arithmetic of computed tensors of ints, in the interpreter against eager PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, with_forward

SENTENCES = [torch.tensor(ids) for ids in ([1, 2, 3], [4], [5, 6])]


class Attending(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.table = nn.Embedding(9, 4)
        self.attention = nn.MultiheadAttention(4, 2, batch_first=True)
        self.out = nn.Linear(4, 9)

    def attend(self, h: Any, mask: Any) -> Any:
        found, _ = self.attention(h, h, h, attn_mask=mask, need_weights=False)
        return found


def of_bools(self: Any, x: Any) -> Any:
    ids = torch.full((1, 1), 0, dtype=torch.long)
    for _ in range(3):
        size = ids.shape[1]
        h = self.attend(self.table(ids), torch.triu(torch.ones(size, size, dtype=torch.bool), diagonal=1))
        best = (self.out(h[:, -1]) + self.table(x).sum()).argmax(-1)
        ids = torch.cat([ids, best.unsqueeze(1)], dim=1)
    return ids


def of_a_comparison(self: Any, x: Any) -> Any:
    ids = torch.full((1, 1), 0, dtype=torch.long)
    for _ in range(3):
        size = ids.size(1)
        h = self.attend(self.table(ids), torch.tril(torch.ones(size, size)) == 0)
        best = (self.out(h[:, -1]) + self.table(x).sum()).argmax(-1)
        ids = torch.cat([ids, best.unsqueeze(1)], dim=1)
    return ids


def of_a_batch(self: Any, x: Any) -> Any:
    size = len(x)
    h = self.table(x).unsqueeze(0)
    first = self.attend(h, torch.triu(torch.ones(1, size, size, dtype=torch.bool), diagonal=1)[0])
    return first, self.attend(h, (1 - torch.tril(torch.ones((1, size, size))))[0].bool())


def of_several_heads(self: Any, x: Any) -> Any:
    """PyTorch's own function, of keys that are all there, too few, and the same for each head."""
    h = self.table(x).view(len(x), 2, 2).transpose(0, 1)
    one = F.scaled_dot_product_attention(h, h, h, is_causal=True)
    fewer = F.scaled_dot_product_attention(h, h[:, :1], h[:, :1], is_causal=True, scale=0.3)
    batch = F.scaled_dot_product_attention(h[None], h[:1][None], h[:1][None], is_causal=True)
    masked = F.scaled_dot_product_attention(h, h, h, attn_mask=torch.ones(len(x), len(x), dtype=torch.bool).tril())
    fixed = self.table.weight[:6].view(2, 3, 4)
    return one, fewer, batch, masked, F.scaled_dot_product_attention(fixed, fixed, fixed, is_causal=True)


@pytest.mark.parametrize("forward", [of_bools, of_a_comparison, of_a_batch, of_several_heads])
def test_causal_masks(forward: Callable[..., Any]) -> None:
    agrees(with_forward(Attending(), forward), SENTENCES)


def test_masks_of_a_number() -> None:
    def forward(self: Any, x: Any) -> Any:
        found = torch.full((2, 2), len(x) > 1)
        return self.attend(self.table(x).unsqueeze(0), torch.full((len(x), len(x)), True).triu(1)), found.tril().float()

    agrees(with_forward(Attending(), forward), SENTENCES)


def test_a_triangle_of_ints_is_refused_in_the_words_of_its_shape() -> None:
    def triangle(self: Any, x: Any) -> Any:
        return x.unsqueeze(0).triu()

    def rolled(self: Any, x: Any) -> Any:
        return x.unsqueeze(0).softmax(1)

    for forward, message in ((triangle, "`triu` of a tensor of ints"), (rolled, r"a tensor of shape \(1, n\) of ints")):
        with pytest.raises(CompileError, match=message):
            build(with_forward(Attending(), forward), sample=SENTENCES)


def test_arithmetic_of_computed_ints() -> None:
    def forward(self: Any, x: Any) -> Any:
        best = self.out(self.table(x)).argmax(-1)
        first = self.out(self.table(x))[0].argmax()
        return best // 2, best + x, -best, best * 2.5, best / 3, self.table(best % 4), first % 3 + x, best * self.table(x)[:, 0]

    agrees(with_forward(Attending(), forward), SENTENCES)
    agrees(with_forward(Attending(), forward), [torch.tensor([1, 2, 3]), torch.tensor([5, 7, 3])])


def test_quotients_that_are_rounded() -> None:
    def forward(self: Any, x: Any) -> Any:
        y = x.float() - 2.5
        best = self.out(self.table(x)).argmax(-1)
        whole = torch.div(x - 4, 3, rounding_mode="floor"), torch.div(best, 2, rounding_mode="floor")
        return (
            *whole,
            x.div(x, rounding_mode="floor"),
            torch.div(y, 2, rounding_mode="trunc"),
            y.div(2, rounding_mode="floor"),
            torch.div(x, 2),
        )

    agrees(with_forward(Attending(), forward), SENTENCES)

    def truncated(self: Any, x: Any) -> Any:
        return torch.div(x, 2, rounding_mode="trunc")

    with pytest.raises(CompileError, match="`div` of ints with"):
        build(with_forward(Attending(), truncated), sample=SENTENCES)


def test_a_beam_that_grows_by_a_column() -> None:
    def forward(self: Any, x: Any) -> Any:
        beam = torch.full((1, 1), 0, dtype=torch.long)
        for _ in range(2):
            flat = self.out(self.table(x)).view(-1).topk(3)[1]
            beam = torch.cat([beam.index_select(0, flat % len(beam)), (flat % 9).unsqueeze(1)], dim=1)
        best = self.out(self.table(x)).argmax(-1)
        return beam, beam[torch.tensor([4, 5, 6]) > 4], torch.cat([x.unsqueeze(1), best.unsqueeze(1)], 1), x.unsqueeze(1)[x > 4]

    agrees(with_forward(Attending(), forward), SENTENCES)


def test_attention_of_a_batch() -> None:
    def forward(self: Any, x: Any) -> Any:
        ids = torch.stack([x, x + 1, x][: len(x)])
        h, causal = self.table(ids), torch.triu(torch.ones(len(x), len(x), dtype=torch.bool), diagonal=1)
        padded = self.attention(h, h, h, key_padding_mask=ids == 9)
        return *padded, self.attend(h, causal), (h > 0).dim(), (h > 0).size(0)

    agrees(with_forward(Attending(), forward), SENTENCES)


def test_a_batch_of_run_time_is_taken_apart() -> None:
    """Its rows are of an extent that varies too."""

    def forward(self: Any, x: Any) -> Any:
        h = torch.stack([self.table(x), self.table(x)])[: len(x)]
        return [row.sum(0) for row in h.unbind(0)], [column.sum(0) for column in h.unbind(1)]

    agrees(with_forward(Attending(), forward), SENTENCES)


def test_attention_of_batches_that_differ() -> None:
    def forward(self: Any, x: Any) -> Any:
        h = torch.stack([self.table(x), self.table(x)])
        k = torch.stack([self.table(x), self.table(x), self.table(x)][: len(x)])
        return self.attention(h, k, k)

    program = build(with_forward(Attending(), forward), sample=SENTENCES)
    with pytest.raises(InstanceError, match="2 sequences attend to 1"):
        Interpreter(program).run(SENTENCES[1])
