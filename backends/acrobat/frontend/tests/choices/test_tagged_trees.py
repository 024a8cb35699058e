"""Trees of tuples that a parser of the model makes, whose first element says what they are: `("number", 1.0)`, `("name",
word)`, `("call", name, arguments)` with a list of trees, `("sum", left, right)`."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

TEXTS = ["1 + x", "( y + 2 ) - 4", "3", "x", "f ( 1 - ( 2 + xy ) )", "f ( 2 , g ( x ) , 3 ) + 1"]
SHORT = ["1 + x", "( y + 2 ) - 4", "3", "x", "( 1 - ( x + 5 ) )"]


class Parser:
    def __init__(self, tokens):
        self.tokens = tokens
        self.at = 0

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def take(self):
        self.at += 1
        return self.tokens[self.at - 1]

    def names_and_numbers(self):
        left = self.name_or_number()
        while self.peek() in ("+", "-"):
            sign = self.take()
            left = ("sum", sign, left, self.name_or_number())
        return left

    def name_or_number(self):
        token = self.take()
        if token == "(":
            inside = self.names_and_numbers()
            self.take()
            return inside
        if token.isalpha():
            return ("name", token)
        return ("number", float(token))

    def expression(self):
        left = self.part()
        while self.peek() in ("+", "-"):
            sign = self.take()
            left = ("sum", sign, left, self.part())
        return left

    def part(self):
        token = self.take()
        if token == "(":
            inside = self.expression()
            self.take()
            return inside
        if token.isalpha() and self.peek() == "(":
            self.take()
            arguments = [self.expression()]
            while self.take() == ",":
                arguments.append(self.expression())
            return ("call", token, arguments)
        if token.isalpha():
            return ("name", token)
        return ("number", float(token))


class Evaluator(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.emb = nn.Embedding(8, 4)
        self.cell = nn.Linear(4, 4)

    def evaluate(self, node):
        kind = node[0]
        if kind == "number":
            return self.emb.weight[0] * node[1]
        if kind == "name":
            return self.emb.weight[len(node[1])]
        if kind == "call":
            _, name, arguments = node
            return torch.stack([self.evaluate(a) for a in arguments]).mean(0) + self.emb.weight[ord(name[0]) % 8]
        left, right = self.evaluate(node[2]), self.evaluate(node[3])
        return torch.tanh(self.cell(left + right if node[1] == "+" else left - right))

    def evaluate_short(self, node):
        if node[0] == "number":
            return self.emb.weight[0] * node[1]
        if node[0] == "name":
            return self.emb.weight[len(node[1])]
        left, right = self.evaluate_short(node[2]), self.evaluate_short(node[3])
        return torch.tanh(self.cell(left + right if node[1] == "+" else left - right))


def with_calls(self, text):
    return self.evaluate(Parser(text.split()).expression())


def without_calls(self, text):
    return self.evaluate_short(Parser(text.split()).names_and_numbers())


@pytest.mark.parametrize(("function", "sample"), [(with_calls, TEXTS), (without_calls, SHORT)])
def test_as_eager(function, sample) -> None:
    agrees(with_forward(Evaluator(), function), sample)


def test_natively(codegen, tmp_path) -> None:
    agrees_natively(with_forward(Evaluator(), with_calls), TEXTS, codegen, tmp_path)
