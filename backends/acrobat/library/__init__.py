"""PyTorch's modules and functions, implemented in the subset of Python that the compiler takes (`LANGUAGE.md`).

The front end has rules of its own for primitive operations only. What PyTorch makes of them is ordinary Python here, which
eager PyTorch can run too. A function of `MODULES` is compiled in place of the `forward` of that class; its first argument is
the module, whose weights have PyTorch's names. A function of `FUNCTIONS` is compiled in place of the torch function, or tensor
method, of that name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from torch import nn

from backends.acrobat.library import (
    activations,
    attention,
    convolution,
    elementwise,
    functional,
    images,
    indexing,
    losses,
    mathematics,
    moving,
    normalisation,
    pooling,
    recurrent,
    searching,
    selection,
    tables,
)

MODULES: dict[type[nn.Module], Callable[..., Any]] = {
    nn.RNNCell: recurrent.rnn_cell,
    nn.GRUCell: recurrent.gru_cell,
    nn.LSTMCell: recurrent.lstm_cell,
    nn.RNN: recurrent.simple,
    nn.GRU: recurrent.simple,
    nn.LSTM: recurrent.lstm,
    nn.MultiheadAttention: attention.multihead_attention,
    nn.TransformerEncoderLayer: attention.transformer_encoder_layer,
    nn.TransformerEncoder: attention.transformer_encoder,
    nn.Conv1d: convolution.conv1d_module,
    nn.BatchNorm1d: normalisation.batch_norm,
    nn.BatchNorm2d: normalisation.batch_norm,
    nn.RMSNorm: normalisation.rms_norm_module,
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
    nn.TransformerDecoderLayer: attention.transformer_decoder_layer,
    nn.TransformerDecoder: attention.transformer_decoder,
    nn.Transformer: attention.transformer,
    nn.Conv2d: images.conv2d,
    nn.MaxPool1d: pooling.max_pool1d_module,
    nn.AvgPool1d: pooling.avg_pool1d_module,
    nn.MaxPool2d: pooling.max_pool2d_module,
    nn.AvgPool2d: pooling.avg_pool2d_module,
    nn.AdaptiveMaxPool1d: images.adaptive_max_pool1d_module,
    nn.AdaptiveAvgPool1d: images.adaptive_avg_pool1d_module,
    nn.AdaptiveMaxPool2d: images.adaptive_max_pool2d_module,
    nn.AdaptiveAvgPool2d: images.adaptive_avg_pool2d_module,
    nn.GroupNorm: normalisation.group_norm_module,
    nn.InstanceNorm1d: normalisation.instance_norm_module,
    nn.InstanceNorm2d: normalisation.instance_norm_module,
    nn.CrossEntropyLoss: losses.cross_entropy_module,
    nn.NLLLoss: losses.nll_module,
    nn.BCELoss: losses.binary_cross_entropy_module,
    nn.BCEWithLogitsLoss: losses.binary_cross_entropy_with_logits_module,
    nn.MSELoss: losses.mse_module,
    nn.L1Loss: losses.l1_module,
    nn.SmoothL1Loss: losses.smooth_l1_module,
    nn.KLDivLoss: losses.kl_div_module,
}
"""Class of a PyTorch module -> the function that is compiled in place of its `forward`."""

_OWN_NAMES: dict[ModuleType, str] = {
    activations: "silu leaky_relu elu softplus mish relu6 hardtanh softsign logsigmoid absolute clamp reciprocal",
    attention: "scaled_dot_product_attention",
    convolution: "conv1d",
    elementwise: """
        power sign ceil trunc frac erf quotient floor_divide remainder fmod tan log1p expm1 log2 log10 exp2 sinh cosh
        logaddexp nan_to_num clamp_min clamp_max lerp addcmul addcdiv hardsigmoid hardswish selu celu tanhshrink
        softshrink hardshrink threshold glu softmin dropout fill zero isclose allclose equal
    """,
    functional: """
        mse_loss l1_loss cross_entropy nll_loss smooth_l1_loss huber_loss binary_cross_entropy
        binary_cross_entropy_with_logits kl_div pairwise_distance normalize cosine_similarity norm vector_norm
        linalg_norm logsumexp outer addmm cdist
        generate_square_subsequent_mask
    """,
    images: "adaptive_max_pool1d adaptive_avg_pool1d adaptive_max_pool2d adaptive_avg_pool2d",
    indexing: "index_select index_add scatter_add scatter_reduce bincount scatter gather index_fill",
    moving: """
        roll cumsum cumprod prod repeat_interleave sort argsort view_as swapaxes ravel hstack vstack argmin diagonal
        trace diag tile unflatten
    """,
    normalisation: "rms_norm group_norm",
    pooling: "max_pool1d avg_pool1d max_pool2d avg_pool2d",
    recurrent: "pack_padded_sequence pad_packed_sequence pack_sequence pad_sequence",
    selection: "topk bucketize searchsorted unique_consecutive unique median",
}
"""File -> the functions in it that have the name of the function of torch or the method that they stand for."""

FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(file, name) for file, names in _OWN_NAMES.items() for name in names.split()},
    "abs": activations.absolute,
    "clip": activations.clamp,
    "dist": functional.distance,
    "ger": functional.outer,
    "bilinear": functional.bilinear_function,
    "var": functional.variance,
    "std": functional.standard_deviation,
    "embedding_bag": tables.bags,
    "round": elementwise.rounded,
    "_threshold": elementwise.threshold,
    "cpu": elementwise.unchanged,
    "reshape_as": moving.view_as,
    "swapdims": moving.swapaxes,
}
"""Name of a function of torch or a method of tensors -> the function that is compiled in its place."""

WITH_ARGUMENT = {("div", "rounding_mode"): "quotient", ("divide", "rounding_mode"): "quotient"}
"""Name of a function of torch or a method, and of an argument -> the name in `FUNCTIONS` for calls that give this argument."""


def name_for(name: str, arguments: Iterable[str]) -> str:
    """The name under which a call of torch's function or method `name` with these named arguments stands in `FUNCTIONS`, if it
    does."""
    return next((WITH_ARGUMENT[name, a] for a in arguments if (name, a) in WITH_ARGUMENT), name)


BUILTINS: dict[str, Callable[..., Any]] = {"any": searching.any_of, "all": searching.all_of}
"""Name of a Python built-in -> the function that is compiled in its place where an argument is known at run time only."""

_OF_MATH = (
    "floor ceil trunc fabs copysign isnan isinf isfinite isclose isqrt prod dist gcd lcm factorial comb perm degrees radians"
)
MATHEMATICS: dict[str, Callable[..., Any]] = {name: getattr(mathematics, name) for name in _OF_MATH.split()}
"""Name of a function of Python's `math` that is no operation of the host -> the function that is compiled in its place."""
