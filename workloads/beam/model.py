"""Beam search (Graves 2012; Sutskever, Vinyals and Le 2014) over the translator of `workloads.seq2seq`.

In each step every unfinished hypothesis is continued with each of its `width` most probable next words; the continuations with
the largest sums of log probabilities stay in the beam. A hypothesis that has ended leaves the beam, which is one narrower from
then on. The answer is the hypothesis with the best score per word among those that have ended.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from workloads.seq2seq.model import END, Seq2Seq


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """The words so far, the sum of their logarithmic probabilities, and the state of the decoder that has written them."""

    words: list[int]
    score: float
    state: Tensor


def extended(hypothesis: Hypothesis, value: float, word: int, state: Tensor) -> Hypothesis:
    """The hypothesis with one more word, whose logarithmic probability is `value`."""
    return Hypothesis([*hypothesis.words, word], hypothesis.score + value, state)


def best_of(hypotheses: list[Hypothesis]) -> list[int]:
    """The words of the hypothesis with the best score per word, without the first `END`, which only starts the decoder."""
    best = max(hypotheses, key=lambda h: h.score / len(h.words))
    return best.words[1:]


def _distance(better: float, worse: float) -> float:
    return (better - worse) / max(abs(better), abs(worse))


class Beam(Seq2Seq):
    """`forward(sentence)` gives the words of the best hypothesis, with `END` if it has ended. `sentence` has at least one
    word."""

    def __init__(self, vocabulary: int, hidden: int, targets: int, longest: int, width: int) -> None:
        super().__init__(vocabulary, hidden, targets, longest)
        self.width = width

    def forward(self, sentence: list[int]) -> list[int]:
        states = self.encode(sentence)
        memory = torch.stack(states)
        beam = [Hypothesis([END], 0.0, states[-1])]
        ended: list[Hypothesis] = []
        for _ in range(self.longest):
            states = [self.step(self.decoder, self.target_embedding.weight[h.words[-1]], h.state) for h in beam]
            scored = [self.log_probabilities(memory, state) for state in states]
            grown = []
            for hypothesis, state, scores in zip(beam, states, scored):  # noqa: B905
                values, words = scores.topk(self.width)
                for value, word in zip(values.tolist(), words.tolist()):  # noqa: B905
                    grown.append(extended(hypothesis, value, word, state))
            best = sorted(grown, key=lambda h: h.score, reverse=True)[: self.width - len(ended)]
            ended = ended + [h for h in best if h.words[-1] == END]
            beam = [h for h in best if h.words[-1] != END]
            if not beam:
                break
        return best_of(ended if ended else beam)

    def nearest(self, sentence: list[int]) -> float:
        """The smallest margin of the search, for verification: of the worst hypothesis kept in a step over the best one dropped
        there, or of the answer over the second best, each relative to the larger absolute value of the two scores."""
        states = self.encode(sentence)
        memory = torch.stack(states)
        beam = [Hypothesis([END], 0.0, states[-1])]
        ended: list[Hypothesis] = []
        margin = math.inf
        for _ in range(self.longest):
            grown: list[Hypothesis] = []
            for h in beam:
                state = self.step(self.decoder, self.target_embedding.weight[h.words[-1]], h.state)
                best = self.log_probabilities(memory, state).topk(self.width + 1)  # one more than can stay
                grown += [extended(h, float(value), int(word), state) for value, word in zip(*best, strict=True)]
            grown.sort(key=lambda h: h.score, reverse=True)
            room = self.width - len(ended)
            margin = min(margin, _distance(grown[room - 1].score, grown[room].score))
            ended += [h for h in grown[:room] if h.words[-1] == END]
            beam = [h for h in grown[:room] if h.words[-1] != END]
            if not beam:
                break
        scores = sorted((h.score / len(h.words) for h in (ended or beam)), reverse=True)
        return min([margin, *(_distance(scores[0], other) for other in scores[1:2])])

    def log_probabilities(self, memory: Tensor, state: Tensor) -> Tensor:
        return torch.log_softmax(self.classify(state, self.attend(memory, state)), dim=-1)
