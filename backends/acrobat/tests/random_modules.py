"""Idioms of random models: PyTorch's own modules, at small widths. Each replaces `h`, a vector with elements in [-1, 1]."""

from __future__ import annotations

from backends.acrobat.tests.random_models import Idiom, Lines, Maker

CONV = "nn.Conv1d(D, D, 2, padding=1)"


def cells(m: Maker) -> Lines:
    """A recurrent cell that goes over the vectors of a list."""
    x, c = m.new("x"), m.new("c")
    xs = m.of("xs")
    kind = m.pick("RNNCell", "GRUCell", "LSTMCell")
    cell = m.module(f"nn.{kind}(D, D)", "cell")
    if kind == "LSTMCell":
        return [f"{c} = torch.zeros(D)", f"for {x} in {xs}:", f"    h, {c} = {cell}({x}, (h, {c}))"]
    return [f"for {x} in {xs}:", f"    h = {cell}({x}, h)"]


def sequences(m: Maker) -> Lines:
    """A recurrent network over the rows of a tensor, in one direction or both."""
    out, last = m.new("out"), m.new("last")
    kind = m.pick("RNN", "GRU", "LSTM")
    both = m.choose(2) == 1
    arguments = m.pick("", ", num_layers=2") + (", bidirectional=True" if both else "") + ", batch_first=True"
    name = m.module(f"nn.{kind}(D, D{arguments})", "net")
    state = f"{last}[0][-1]" if kind == "LSTM" else f"{last}[-1]"
    call = f"{out}, {last} = {name}({m.of('rows')}.unsqueeze(0))"
    if kind == "LSTM":
        return [call, f"h = torch.tanh({out}[0].sum(0)[:D] + {state}[0])"]
    return [call, f"h = torch.tanh({out}[0].mean(0)[:D] + {state}[0])"]


def attention(m: Maker) -> Lines:
    out, weights = m.new("out"), m.new("weights")
    heads = 2 if m.d % 2 == 0 else 1
    name = m.module(f"nn.MultiheadAttention(D, {heads}, batch_first=True)", "attention")
    r = f"{m.of('rows')}.unsqueeze(0)"
    return [f"{out}, {weights} = {name}({r}, {r}, {r})", f"h = torch.tanh({out}[0].mean(0) + h)"]


def transformer(m: Maker) -> Lines:
    heads = 2 if m.d % 2 == 0 else 1
    first = ", norm_first=True" if m.choose(2) else ""
    name = m.module(
        f"nn.TransformerEncoderLayer(D, {heads}, dim_feedforward=5, dropout=0.0, batch_first=True{first})", "encoder"
    )
    return [f"h = torch.tanh({name}({m.of('rows')}.unsqueeze(0))[0].mean(0) + h)"]


def norms(m: Maker) -> Lines:
    name = m.pick("nn.LayerNorm(D)", "nn.RMSNorm(D, eps=0.1)", "nn.LayerNorm(D, eps=0.1)")
    return [f"h = torch.tanh({m.module(name, 'norm')}(h + {m.of('x')}))"]


def small_modules(m: Maker) -> Lines:
    ways = [
        f"h = torch.tanh({m.module('nn.Bilinear(D, D, D)', 'bilinear')}(h, {m.of('x')}))",
        f"h = {m.module('nn.Sequential(nn.Linear(D, 2 * D), nn.ReLU(), nn.Linear(2 * D, D), nn.Tanh())', 'net')}(h)",
        f"h = torch.tanh({m.module('nn.PReLU()', 'act')}(h) + {m.module('nn.ELU()', 'act')}(h))",
        f"h = {m.module('nn.Softmax(dim=-1)', 'act')}({m.module('nn.Dropout(0.5)', 'drop')}(h))",
        f"h = torch.tanh({m.module(CONV, 'conv')}({m.of('rows')}.t().unsqueeze(0)).max(dim=2)[0][0])",
        f"h = torch.tanh({m.module('nn.BatchNorm1d(D)', 'bn')}({m.of('rows')}).mean(0))",
    ]
    return [ways[m.choose(len(ways))]]


MODULES: dict[str, Idiom] = {
    "cells": cells,
    "recurrent networks": sequences,
    "attention modules": attention,
    "transformer layers": transformer,
    "norms": norms,
    "small modules": small_modules,
}
"""These idioms by name."""
