"""A gated recurrent unit whose input and state are multiplied with their parts of the weights, instead of concatenated."""

from __future__ import annotations

from collections.abc import Callable

import dynet as dy

from backends.dynet.engine import Expression, Parameters, expressions

GATES = ("update", "reset", "candidate")


class GRU:
    """The GRU of the module `name`. Its inputs are rows of the parameter `words`; with tables, their products are looked up."""

    def __init__(self, parameters: Parameters, name: str, words: str) -> None:
        self.gates = [parameters.linear(f"{name}.{gate}", 2) for gate in GATES]
        self.words = parameters.table(parameters[words])
        tables = GATES if parameters.tables else ()
        self.shares = [parameters.projection(words, f"{name}.{gate}", 2) for gate in tables]

    def step(self) -> Callable[[int, Expression], Expression]:
        """A function, for the current graph, from a word and the state to the next state."""
        lookup, affine, sigmoid, tanh, times = dy.lookup, dy.affine_transform, dy.logistic, dy.tanh, dy.cmult
        (b_z, W_z, U_z), (b_r, W_r, U_r), (b_c, W_c, U_c) = (expressions(*gate) for gate in self.gates)

        def step(word: int, state: Expression) -> Expression:
            x = lookup(self.words, word, False)
            z = sigmoid(affine([b_z, W_z, x, U_z, state]))
            r = sigmoid(affine([b_r, W_r, x, U_r, state]))
            return state + times(z, tanh(affine([b_c, W_c, x, U_c, times(r, state)])) + (-state))

        def step_with_tables(word: int, state: Expression) -> Expression:
            of_z, of_r, of_c = (lookup(share, word, False) for share in self.shares)
            z = sigmoid(of_z + U_z * state)
            r = sigmoid(of_r + U_r * state)
            return state + times(z, tanh(of_c + U_c * times(r, state)) + (-state))

        return step_with_tables if self.shares else step
