"""PyTorch's modules and functions, implemented in the subset of Python that the compiler takes (`LANGUAGE.md`).

The front end has rules of its own for primitive operations only. What PyTorch makes of them is ordinary Python here, which
eager PyTorch can run too. A function of `MODULES` is compiled in place of the `forward` of that class; its first argument is
the module, whose weights have PyTorch's names. (A module whose `forward` is one call of a function, as that of `nn.ELU` is, has
no entry: it is compiled as that call, `frontend/tensors/forwards.py`.) A function of `FUNCTIONS` is compiled in place of the
torch function, or tensor method, of that name.
"""

from __future__ import annotations

import graphlib
import queue
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

import torch
from torch import nn
from torch.nn.utils.parametrizations import _SpectralNorm, _WeightNorm

from backends.acrobat.library import (
    activations,
    adaptive,
    alignments,
    arranging,
    attention,
    convolution,
    distributions,
    elementwise,
    functional,
    gamma,
    graph_orders,
    images,
    indexing,
    linear_algebra,
    loss_functions,
    margins,
    mathematics,
    moving,
    normalisation,
    parametrized,
    placing,
    pooling,
    products,
    queues,
    recurrent,
    running,
    sampling,
    searching,
    selection,
    special,
    statistics,
    tables,
    trigonometry,
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
    nn.BatchNorm1d: normalisation.batch_norm_module,
    nn.BatchNorm2d: normalisation.batch_norm_module,
    nn.TransformerDecoderLayer: attention.transformer_decoder_layer,
    nn.TransformerDecoder: attention.transformer_decoder,
    nn.Transformer: attention.transformer,
    nn.Conv2d: images.conv2d_module,
    nn.InstanceNorm1d: normalisation.instance_norm_module,
    nn.InstanceNorm2d: normalisation.instance_norm_module,
    nn.ConvTranspose1d: convolution.conv_transpose1d_module,
    nn.ConvTranspose2d: images.conv_transpose2d_module,
    _WeightNorm: parametrized.weight_norm,
    _SpectralNorm: parametrized.spectral_norm,
}
"""Class of a PyTorch module -> the function that is compiled in place of its `forward`."""

_OWN_NAMES: dict[ModuleType, str] = {
    activations: "silu leaky_relu elu softplus prelu mish relu6 hardtanh softsign logsigmoid rrelu absolute clamp reciprocal",
    adaptive: "adaptive_max_pool1d adaptive_avg_pool1d adaptive_max_pool2d adaptive_avg_pool2d",
    alignments: "ctc_loss",
    arranging: """
        unfold atleast_1d atleast_2d atleast_3d column_stack dstack
        adjoint msort meshgrid cartesian_prod combinations diagonal trace diag diag_embed diagflat fill_diagonal
        pixel_shuffle pixel_unshuffle channel_shuffle image_windows
    """,
    attention: "scaled_dot_product_attention",
    convolution: "conv1d conv_transpose1d",
    distributions: "kl_divergence",
    elementwise: """
        power sign ceil trunc frac erf quotient floor_divide remainder fmod log1p expm1 log2 log10 exp2 logaddexp nan_to_num
        clamp_min clamp_max lerp addcmul addcdiv hardsigmoid hardswish selu celu tanhshrink softshrink hardshrink threshold
        glu softmin dropout fill zero isclose allclose equal
    """,
    functional: """
        bilinear pairwise_distance normalize cosine_similarity norm vector_norm linalg_norm logsumexp cdist pdist
        generate_square_subsequent_mask
    """,
    gamma: "lgamma digamma",
    images: "conv2d conv_transpose2d fold",
    indexing: "index_select index_add scatter_add scatter_reduce bincount scatter gather index_fill",
    linear_algebra: """
        solve inverse det slogdet logdet cholesky solve_triangular cholesky_solve cholesky_inverse matrix_exp block_diag cov
        corrcoef
    """,
    loss_functions: """
        mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy binary_cross_entropy_with_logits kl_div nll_loss
        cross_entropy
    """,
    margins: """
        hinge_embedding_loss margin_ranking_loss cosine_embedding_loss triplet_margin_loss soft_margin_loss
        multilabel_soft_margin_loss multi_margin_loss poisson_nll_loss gaussian_nll_loss
    """,
    moving: """
        roll cumsum cumprod prod repeat_interleave sort argsort view_as swapaxes ravel hstack vstack argmin tile unflatten
    """,
    normalisation: "batch_norm rms_norm group_norm instance_norm local_response_norm",
    placing: "masked_select masked_scatter take put take_along_dim index_copy index_put select_scatter",
    products: """
        addmm addmv addr baddbmm addbmm outer vdot inner vecdot kron multi_dot chain_matmul matrix_power cross
        linalg_cross
    """,
    pooling: "max_pool1d avg_pool1d max_pool2d avg_pool2d",
    recurrent: "pack_padded_sequence pad_packed_sequence pack_sequence pad_sequence unpad_sequence",
    sampling: "interpolate affine_grid grid_sample",
    running: "cummax cummin logcumsumexp diff trapezoid cumulative_trapezoid",
    selection: "topk bucketize searchsorted unique_consecutive unique",
    special: "erfc logit xlogy heaviside fmax fmin isposinf isneginf logaddexp2 rsub",
    statistics: """
        count_nonzero nansum nanmean var_mean std_mean aminmax kthvalue mode median quantile histc isin renorm
    """,
    tables: "embedding_bag",
    trigonometry: """
        atan atan2 signbit copysign asin acos asinh acosh atanh sinh cosh tan hypot sinc rad2deg deg2rad
    """,
}
"""File -> the functions in it that have the name of the function of torch or the method that they stand for."""

FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(file, name) for file, names in _OWN_NAMES.items() for name in names.split()},
    "abs": activations.absolute,
    "clip": activations.clamp,
    "dist": functional.distance,
    "ger": products.outer,
    "var": functional.variance,
    "std": functional.standard_deviation,
    "round": elementwise.rounded,
    "_threshold": elementwise.threshold,
    "cpu": elementwise.unchanged,
    "copy": elementwise.copied,
    "reshape_as": moving.view_as,
    "swapdims": moving.swapaxes,
    "positive": elementwise.unchanged,
    "sgn": elementwise.sign,
    "fix": elementwise.trunc,
    "row_stack": moving.vstack,
    "trapz": running.trapezoid,
    **{f"arc{name}": getattr(trigonometry, f"a{name}") for name in ["sin", "cos", "tan", "tan2", "sinh", "cosh", "tanh"]},
    **dict.fromkeys(("dropout1d", "dropout2d", "dropout3d"), elementwise.dropout),
    **dict.fromkeys(("alpha_dropout", "feature_alpha_dropout"), elementwise.dropout_in_training),
}
"""Name of a function of torch or a method of tensors -> the function that is compiled in its place."""

WITH_ARGUMENT = {("div", "rounding_mode"): "quotient", ("divide", "rounding_mode"): "quotient"}
"""Name of a function of torch or a method, and of an argument -> the name in `FUNCTIONS` for calls that give this argument."""


def name_for(name: str, arguments: Iterable[str]) -> str:
    """The name under which a call of torch's function or method `name` with these named arguments stands in `FUNCTIONS`, if it
    does."""
    return next((WITH_ARGUMENT[name, a] for a in arguments if (name, a) in WITH_ARGUMENT), name)


def broadcasts(function: Callable[..., Any] | None) -> bool:
    """Whether the operands of a function of the library are broadcast, also along an extent that varies and is 1 in an
    instance. Elsewhere in the library extents that must be equal are compared, since PyTorch does so or computes nothing."""
    return getattr(function, "__module__", "") in _ELEMENT_BY_ELEMENT or function in _OF_DIFFERENCES


_ELEMENT_BY_ELEMENT = {file.__name__ for file in (elementwise, special, trigonometry)}
_OF_DIFFERENCES = {getattr(loss_functions, name) for name in ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"]}
_OF_DIFFERENCES |= {getattr(functional, name) for name in ["pairwise_distance", "cosine_similarity", "distance"]}


CLASSES: dict[type, type] = {
    queue.PriorityQueue: queues.PriorityQueue,
    queue.Queue: queues.Queue,
    queue.SimpleQueue: queues.Queue,
    queue.LifoQueue: queues.LifoQueue,
    graphlib.TopologicalSorter: graph_orders.TopologicalSorter,
    **{
        getattr(torch.distributions, name): getattr(distributions, name)
        for name in ["Categorical", "Bernoulli", "Normal", "Laplace", "Exponential", "Poisson", "Gamma", "Beta"]
    },
}
"""Classes of Python's `queue` and `graphlib`, and of `torch.distributions` -> the class of which an object is made in their
place."""

BUILTINS: dict[str, Callable[..., Any]] = {"any": searching.any_of, "all": searching.all_of}
"""Name of a Python built-in -> the function that is compiled in its place where an argument is known at run time only."""

_OF_MATH = (
    "floor ceil trunc fabs copysign isnan isinf isfinite isclose isqrt prod dist gcd lcm factorial comb perm degrees radians"
)
MATHEMATICS: dict[str, Callable[..., Any]] = {name: getattr(mathematics, name) for name in _OF_MATH.split()}
"""Name of a function of Python's `math` that is no operation of the host -> the function that is compiled in its place."""
