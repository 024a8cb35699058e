"""StackRNN. The sentences wait together, each for its next choice between the two actions.

Each action's product in the step of the actions' RNN is always the same, so it is computed once and serves as the bias.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dynet as dy

from backends.dynet.engine import Expression, Graph, Parameters, expressions
from backends.dynet.interleave import Interleaving, Task, decide
from workloads.decisions import split
from workloads.stackrnn.model import Sentence

Stack = tuple[Expression, Expression, Any]  # value, state, stack below; None is the empty stack


class Program:
    def __init__(self, model: Any, parameters: Parameters) -> None:
        self.real = model.real
        self.words = parameters.table(parameters["embedding.weight"])
        self.actions = [parameters.add(row) for row in parameters["actions.weight"]]
        self.starts = [parameters.add(parameters[f"{name}_start"]) for name in ("stack", "buffer", "action")]
        self.stack = parameters.linear("stack_cell", 2)
        self.buffer = parameters.linear("buffer_cell", 2)
        self.action = parameters.linear("action_cell", 2)
        cells = ("buffer_cell", "stack_cell") if parameters.tables else ()
        self.shares = [parameters.projection("embedding.weight", cell, 2) for cell in cells]
        self.composition = parameters.linear("composition", 2)
        self.summary = parameters.linear("summary", 3)
        self.scores = parameters.linear("action_scores")
        self.classifier = parameters.linear("classifier")

    def run(self, minibatch: Sequence[Sentence], graph: Graph) -> list[Expression]:
        lookup, affine, tanh, table, real = dy.lookup, dy.affine_transform, dy.tanh, self.words, self.real
        shares = self.shares
        stack_start, buffer_start, action_start = expressions(*self.starts)
        b_s, W_s, U_s = expressions(*self.stack)
        b_b, W_b, U_b = expressions(*self.buffer)
        b_a, W_a, U_a = expressions(*self.action)
        b_shift, b_reduce = (affine([b_a, W_a, action]) for action in expressions(*self.actions))
        b_c, L_c, R_c = expressions(*self.composition)
        b_p, S_p, B_p, A_p = expressions(*self.summary)
        b_d, W_d = expressions(*self.scores)
        b, W = expressions(*self.classifier)

        def parse(sentence: Sentence, tops: list[Expression | None], number: int) -> Task:
            words = [lookup(table, word, False) for word in sentence.words]
            suffixes = [buffer_start]
            for word, x in zip(reversed(sentence.words), reversed(words), strict=True):
                if shares:
                    suffixes.append(tanh(lookup(shares[0], word, False) + U_b * suffixes[-1]))
                else:
                    suffixes.append(tanh(affine([b_b, W_b, x, U_b, suffixes[-1]])))
            stack: Stack | None = None
            history = action_start
            height, unread = 0, len(words)
            for i in range(2 * len(words) - 1):
                reduces = unread == 0
                if height > 1 and unread > 0:
                    assert stack is not None
                    summary = dy.rectify(affine([b_p, S_p, stack[1], B_p, suffixes[unread], A_p, history]))
                    _, p_reduce = yield dy.softmax(affine([b_d, W_d, summary]))
                    reduces = decide(p_reduce, 0, 1, split(sentence.key, i), real) == 1
                if reduces:
                    assert stack is not None
                    right, _, (left_value, _, below) = stack
                    value = tanh(affine([b_c, L_c, left_value, R_c, right]))
                    b_action, height = b_reduce, height - 1
                else:
                    word, value, below = sentence.words[len(words) - unread], words[len(words) - unread], stack
                    b_action, height, unread = b_shift, height + 1, unread - 1
                top = stack_start if below is None else below[1]
                if shares and not reduces:
                    state = tanh(lookup(shares[1], word, False) + U_s * top)
                else:
                    state = tanh(affine([b_s, W_s, value, U_s, top]))
                stack = (value, state, below)
                history = tanh(affine([b_action, U_a, history]))
            tops[number] = stack_start if stack is None else stack[1]

        tasks = Interleaving()
        tops: list[Expression | None] = [None] * len(minibatch)
        for number, sentence in enumerate(minibatch):
            tasks.start(parse(sentence, tops, number))
        tasks.run(graph)
        outputs = [affine([b, W, top]) for top in tops]
        graph.forward(outputs)
        return outputs
