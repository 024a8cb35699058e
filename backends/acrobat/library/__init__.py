"""PyTorch's modules and functions, written once more in the language itself.

The compiler knows primitive operations only; what PyTorch makes of them stands here as ordinary Python, which a user can read
and which eager PyTorch runs as well. A function of `MODULES` takes the place of a class's `forward`: its first argument is the
module, with the weights under PyTorch's own names. A function of `FUNCTIONS` takes the place of a function of torch, by its
name; it serves the method of that name too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn

from backends.acrobat.library import (
    activations,
    attention,
    convolution,
    functional,
    normalisation,
    python,
    recurrent,
    selection,
    tables,
)

MODULES: dict[type[nn.Module], Callable[..., Any]] = {
    nn.RNNCell: recurrent.rnn_cell,
    nn.GRUCell: recurrent.gru_cell,
    nn.LSTMCell: recurrent.lstm_cell,
    nn.RNN: recurrent.rnn,
    nn.GRU: recurrent.gru,
    nn.LSTM: recurrent.lstm,
    nn.MultiheadAttention: attention.multihead_attention,
    nn.TransformerEncoderLayer: attention.transformer_encoder_layer,
    nn.TransformerEncoder: attention.transformer_encoder,
    nn.Conv1d: convolution.conv1d,
    nn.BatchNorm1d: normalisation.batch_norm,
    nn.RMSNorm: normalisation.rms_norm,
    nn.Bilinear: functional.bilinear,
    nn.EmbeddingBag: tables.embedding_bag,
    nn.SiLU: activations.silu_module,
    nn.LeakyReLU: activations.leaky_relu_module,
    nn.ELU: activations.elu_module,
    nn.Softplus: activations.softplus_module,
    nn.PReLU: activations.prelu_module,
    nn.Mish: activations.mish_module,
    nn.ReLU6: activations.relu6_module,
    nn.Hardtanh: activations.hardtanh_module,
    nn.Softsign: activations.softsign_module,
    nn.LogSigmoid: activations.logsigmoid_module,
    nn.Flatten: functional.flatten_module,
    nn.CosineSimilarity: functional.cosine_similarity_module,
}
"""What runs in place of the `forward` of PyTorch's classes."""

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "silu": activations.silu,
    "leaky_relu": activations.leaky_relu,
    "elu": activations.elu,
    "softplus": activations.softplus,
    "mish": activations.mish,
    "relu6": activations.relu6,
    "hardtanh": activations.hardtanh,
    "softsign": activations.softsign,
    "logsigmoid": activations.logsigmoid,
    "abs": activations.absolute,
    "absolute": activations.absolute,
    "clamp": activations.clamp,
    "clip": activations.clamp,
    "reciprocal": activations.reciprocal,
    "mse_loss": functional.mse_loss,
    "l1_loss": functional.l1_loss,
    "cross_entropy": functional.cross_entropy,
    "nll_loss": functional.nll_loss,
    "normalize": functional.normalize,
    "cosine_similarity": functional.cosine_similarity,
    "norm": functional.norm,
    "logsumexp": functional.logsumexp,
    "outer": functional.outer,
    "bilinear": functional.bilinear_function,
    "expand_as": functional.expand_as,
    "addmm": functional.addmm,
    "var": functional.variance,
    "std": functional.standard_deviation,
    "topk": selection.topk,
    "scaled_dot_product_attention": attention.scaled_dot_product_attention,
}
"""What runs in place of PyTorch's functions and methods of these names."""

BUILTINS: dict[str, Callable[..., Any]] = {"any": python.any_of, "all": python.all_of, "round": python.rounded}
"""What runs in place of Python's own functions of these names."""
