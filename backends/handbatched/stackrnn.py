"""StackRNN: all sentences take their next action together, the longest sentence first, and wait for their choices together.

Each action makes one element of a stack, so a stack is a list of the rows of its elements; those that one round makes are
neighbouring rows, first those of pushed words, then those of composed values. What words and actions contribute to the RNNs is
computed before the first round.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from backends.handbatched.products import accumulation, product
from backends.handbatched.sequences import Packed, pack
from backends.handbatched.setting import Setting
from backends.handbatched.words import WordProducts
from backends.pytorch.batched import Counts
from workloads.decisions import decide, split
from workloads.stackrnn.model import Sentence, StackRNN


class Program:
    def __init__(self, model: StackRNN, setting: Setting) -> None:
        self.model, self.device = model, setting.device
        words, library = model.embedding.weight, setting.library

        def parts(cell: nn.Linear) -> tuple[Tensor, ...]:
            return cell.weight.chunk(2, dim=1)

        (of_pushed, of_stack), (of_read, of_buffer), (of_action, of_history) = map(
            parts, (model.stack_cell, model.buffer_cell, model.action_cell)
        )
        self.pushed = WordProducts(setting, words, of_pushed, model.stack_cell.bias)
        self.read = WordProducts(setting, words, of_read, model.buffer_cell.bias)
        self.push = product(library, of_pushed, model.stack_cell.bias)
        self.add_stack, self.add_buffer, self.add_history = (
            accumulation(library, weight) for weight in (of_stack, of_buffer, of_history)
        )
        self.acted = product(library, of_action, model.action_cell.bias)(model.actions.weight)
        self.compose = product(library, model.composition.weight, model.composition.bias)
        self.summarise = product(library, model.summary.weight, model.summary.bias, "relu")
        self.scores = product(library, model.action_scores.weight, model.action_scores.bias)
        self.classifier = product(library, model.classifier.weight, model.classifier.bias)
        self.has_tables = setting.tables

    def run(self, minibatch: Sequence[Sentence], counts: Counts) -> list[Tensor]:
        """The scores of every sentence, each of shape [classes]."""
        counts.nodes, counts.batches = len(minibatch), 1
        tops = self.model.stack_start.expand(len(minibatch), -1)
        if any(sentence.words for sentence in minibatch):
            with counts.ingesting():
                packed = pack([sentence.words for sentence in minibatch], self.device)
            ranked = sorted(range(len(minibatch)), key=packed.ranks.tolist().__getitem__)
            tops = Parser(self, [minibatch[i] for i in ranked], packed, counts).tops().index_select(0, packed.ranks)
        return list(self.classifier(tops).unbind(0))


class Parser:
    """The parsing of one mini-batch. `sentences`: the longest first, as in `packed`."""

    def __init__(self, program: Program, sentences: Sequence[Sentence], packed: Packed, counts: Counts) -> None:
        self.program, self.sentences, self.packed, self.counts = program, sentences, packed, counts
        model = program.model
        self.lengths = [len(sentence.words) for sentence in sentences]
        self.first = np.cumsum([0, *packed.steps]).tolist()
        self.vectors = model.embedding.weight.index_select(0, packed.words)
        self.pushed = program.pushed(packed.words)
        self.suffixes = self.suffix_states()
        elements = 1 + sum(2 * length - 1 for length in self.lengths if length)
        self.values = self.vectors.new_empty(elements, model.stack_start.shape[0])
        self.states = torch.empty_like(self.values)
        self.states[0] = model.stack_start  # row 0 is the empty stack
        self.stacks = [[0] for _ in sentences]
        self.unread = list(self.lengths)
        self.history = model.action_start.expand(len(sentences), -1)

    def rows(self, numbers: Sequence[int]) -> Tensor:
        return torch.tensor(numbers, dtype=torch.int64, device=self.program.device)

    def suffix_states(self) -> Tensor:
        """The buffer RNN's states, shortest suffix first: that of `n` words of sentence `i` is row first[n - 1] + i."""
        shares = self.program.read(self.packed.reversed)
        state = self.program.model.buffer_start.expand(len(self.sentences), -1)
        for share in shares.split(self.packed.steps):
            self.program.add_buffer(share, state[: len(share)])
            state = share.tanh_()
        self.counts.nodes, self.counts.batches = self.counts.nodes + len(shares), self.counts.batches + len(self.packed.steps)
        return shares

    def tops(self) -> Tensor:
        """The states of the finished stacks."""
        made, going = 1, len(self.sentences)
        for number in range(2 * self.lengths[0] - 1):
            while 2 * self.lengths[going - 1] - 1 <= number:
                going -= 1
            reduces = self.choices(number, going)
            self.act(reduces, made)
            made += going
        return self.states.index_select(0, self.rows([stack[-1] for stack in self.stacks]))

    def choices(self, number: int, going: int) -> list[bool]:
        """Whether each sentence reduces in this round. Waits for the scores of those that may do either."""
        reduces = [self.unread[i] == 0 for i in range(going)]
        open_choices = [i for i in range(going) if len(self.stacks[i]) > 2 and self.unread[i] > 0]
        if not open_choices:
            return reduces
        program = self.program
        stack = self.states.index_select(0, self.rows([self.stacks[i][-1] for i in open_choices]))
        buffer = self.suffixes.index_select(0, self.rows([self.first[self.unread[i] - 1] + i for i in open_choices]))
        history = self.history.index_select(0, self.rows(open_choices))
        summary = program.summarise(torch.cat((stack, buffer, history), dim=1))
        with self.counts.fetching():
            p_reduce = torch.softmax(program.scores(summary), dim=1)[:, 1].tolist()
        self.counts.nodes, self.counts.batches = self.counts.nodes + len(open_choices), self.counts.batches + 1
        for i, p in zip(open_choices, p_reduce, strict=True):
            score = cast(Any, np.float64(p))
            reduces[i] = decide(score, 0, 1, split(self.sentences[i].key, number), program.model.real) == 1
        return reduces

    def act(self, reduces: Sequence[bool], made: int) -> None:
        """Shifts or reduces for the first sentences; their new elements are the rows from `made` on."""
        program, going = self.program, len(reduces)
        shifting = [i for i in range(going) if not reduces[i]]
        reducing = [i for i in range(going) if reduces[i]]
        words = self.rows([self.first[self.lengths[i] - self.unread[i]] + i for i in shifting])
        pairs = self.rows([row for i in reducing for row in self.stacks[i][-2:]])
        for i in shifting:
            self.unread[i] -= 1
        for i in reducing:
            del self.stacks[i][-2:]
        values, states = (memory[made : made + going] for memory in (self.values, self.states))
        pushes = len(shifting)
        if shifting:
            torch.index_select(self.vectors, 0, words, out=values[:pushes])
            torch.index_select(self.pushed, 0, words, out=states[:pushes])
        if reducing:
            composed = program.compose(self.values.index_select(0, pairs).view(len(reducing), -1))
            torch.tanh(composed, out=values[pushes:])
            states[pushes:] = program.push(values[pushes:])
        below = self.rows([self.stacks[i][-1] for i in (*shifting, *reducing)])
        program.add_stack(states, self.states.index_select(0, below))
        states.tanh_()
        for row, i in enumerate((*shifting, *reducing), made):
            self.stacks[i].append(row)
        acted = program.acted.index_select(0, self.rows([int(each) for each in reduces]))
        program.add_history(acted, self.history[:going])
        self.history = acted.tanh_()
        self.counts.nodes += going + len(reducing)
        self.counts.batches += 1 + (len(reducing) > 0)
