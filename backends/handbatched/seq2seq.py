"""Seq2Seq: packed sentences are read step by step, and decoded together with a mask over their padded states.

Decoding keeps a row for every sentence. Dropping the rows of sentences that have ended copies the states of all others, so it
is done only when more than a quarter of the rows have ended; until then these rows are computed and their words ignored.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from backends.handbatched.gru import Steps
from backends.handbatched.products import product
from backends.handbatched.sequences import Packed, pack
from backends.handbatched.setting import Setting
from backends.pytorch.batched import Counts
from workloads.seq2seq.model import END, Seq2Seq

KEPT = 0.75  # the other rows are dropped when less than this share of the rows still goes on


class Translator:
    """The encoder, the decoder and the scores of the next words, for greedy decoding and for beam search."""

    def __init__(self, model: Seq2Seq, setting: Setting) -> None:
        library = setting.library
        self.longest, self.start = model.longest, model.start
        self.encoder = Steps(model.encoder, model.embedding.weight, setting)
        self.decoder = Steps(model.decoder, model.target_embedding.weight, setting)
        self.query = product(library, model.query.weight)
        self.combine = product(library, model.combine.weight, model.combine.bias, "tanh")
        self.output = product(library, model.output.weight, model.output.bias)

    def read(self, packed: Packed) -> tuple[Tensor, Tensor, Tensor]:
        """For the sentences in the order of lengths: the states of their words, padded, [sentences, words, hidden]; a mask to
        add to the scores of attention, minus infinity where there is no word, [sentences, 1, words]; and the last states."""
        memory, state = self.encoder.read(packed.words, packed.steps, self.start)
        going = torch.tensor(packed.steps, device=memory.device)
        absent = torch.arange(len(memory), device=memory.device)[:, None] >= going
        mask = memory.new_zeros(absent.shape).masked_fill_(absent, float("-inf"))
        return memory, mask[:, None], state

    def scores(self, memory: Tensor, mask: Tensor, state: Tensor) -> Tensor:
        """The scores of all target words, [rows, targets]. `state`: [rows, hidden], equally many rows for each sentence."""
        query = self.query(state).view(len(memory), -1, state.shape[1])
        weights = torch.softmax(torch.baddbmm(mask, query, memory.transpose(1, 2)), dim=2)
        context = torch.bmm(weights, memory).view_as(state)
        return self.output(self.combine(torch.cat((context, state), dim=1)))


class Program:
    def __init__(self, model: Seq2Seq, setting: Setting) -> None:
        self.device = setting.device
        self.translator = Translator(model, setting)
        self.has_tables = setting.tables

    def run(self, minibatch: Sequence[list[int]], counts: Counts) -> list[list[int]]:
        translator = self.translator
        with counts.ingesting():
            packed = pack(minibatch, self.device)
        memory, mask, state = translator.read(packed)
        counts.nodes, counts.batches = len(packed.words), len(packed.steps)
        translations: list[list[int]] = [[] for _ in minibatch]  # in the order of lengths
        rows: list[list[int] | None] = [*translations]  # where each row appends words; None: its sentence has ended
        words = torch.full((len(rows),), END, device=memory.device)
        for _ in range(translator.longest):
            state = translator.decoder.step(translator.decoder.shares(words), state)
            words = translator.scores(memory, mask, state).argmax(dim=1)
            counts.batches += 1
            with counts.fetching():
                chosen = words.tolist()
            for row, (target, word) in enumerate(zip(rows, chosen, strict=True)):
                if target is not None:
                    counts.nodes += 1
                    if word == END:
                        rows[row] = None
                    else:
                        target.append(word)
            stay = [row for row, target in enumerate(rows) if target is not None]
            if not stay:
                break
            if len(stay) < KEPT * len(rows):
                going = torch.tensor(stay, device=memory.device)
                memory, mask, state, words = memory[going], mask[going], state[going], words[going]
                rows = [rows[row] for row in stay]
        return [translations[rank] for rank in packed.ranks.tolist()]
