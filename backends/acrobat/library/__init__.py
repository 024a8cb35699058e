"""PyTorch's modules and functions, implemented in the subset of Python that the compiler takes (`LANGUAGE.md`).

The front end has rules of its own for primitive operations only. What PyTorch makes of them is ordinary Python here, which
eager PyTorch can run too. A function of `MODULES` is compiled in place of the `forward` of that class; its first argument is
the module, whose weights have PyTorch's names. A function of `FUNCTIONS` is compiled in place of the torch function, or tensor
method, of that name.
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

import torch
from torch import nn
from torch.nn.utils.parametrizations import _SpectralNorm, _WeightNorm

from backends.acrobat.library import (
    activation_modules,
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
    images,
    indexing,
    loss_functions,
    losses,
    margins,
    mathematics,
    moving,
    normalisation,
    padding,
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
    nn.BatchNorm1d: normalisation.batch_norm,
    nn.BatchNorm2d: normalisation.batch_norm,
    nn.RMSNorm: normalisation.rms_norm_module,
    nn.Bilinear: functional.bilinear,
    nn.EmbeddingBag: tables.embedding_bag,
    nn.SiLU: activation_modules.silu_module,
    nn.LeakyReLU: activation_modules.leaky_relu_module,
    nn.ELU: activation_modules.elu_module,
    nn.Softplus: activation_modules.softplus_module,
    nn.PReLU: activation_modules.prelu_module,
    nn.Mish: activation_modules.mish_module,
    nn.ReLU6: activation_modules.relu6_module,
    nn.Hardtanh: activation_modules.hardtanh_module,
    nn.Softsign: activation_modules.softsign_module,
    nn.LogSigmoid: activation_modules.logsigmoid_module,
    nn.Flatten: functional.flatten_module,
    nn.CosineSimilarity: functional.cosine_similarity_module,
    nn.TransformerDecoderLayer: attention.transformer_decoder_layer,
    nn.TransformerDecoder: attention.transformer_decoder,
    nn.Transformer: attention.transformer,
    nn.Conv2d: images.conv2d_module,
    nn.MaxPool1d: pooling.max_pool1d_module,
    nn.AvgPool1d: pooling.avg_pool1d_module,
    nn.MaxPool2d: pooling.max_pool2d_module,
    nn.AvgPool2d: pooling.avg_pool2d_module,
    nn.AdaptiveMaxPool1d: adaptive.adaptive_max_pool1d_module,
    nn.AdaptiveAvgPool1d: adaptive.adaptive_avg_pool1d_module,
    nn.AdaptiveMaxPool2d: adaptive.adaptive_max_pool2d_module,
    nn.AdaptiveAvgPool2d: adaptive.adaptive_avg_pool2d_module,
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
    nn.SELU: activation_modules.selu_module,
    nn.CELU: activation_modules.celu_module,
    nn.RReLU: activation_modules.rrelu_module,
    nn.Hardswish: activation_modules.hardswish_module,
    nn.Hardsigmoid: activation_modules.hardsigmoid_module,
    nn.Tanhshrink: activation_modules.tanhshrink_module,
    nn.Softshrink: activation_modules.softshrink_module,
    nn.Hardshrink: activation_modules.hardshrink_module,
    nn.Threshold: activation_modules.threshold_module,
    nn.GLU: activation_modules.glu_module,
    nn.Softmin: activation_modules.softmin_module,
    nn.Softmax2d: activation_modules.softmax2d_module,
    nn.LocalResponseNorm: normalisation.local_response_norm_module,
    nn.ConvTranspose1d: convolution.conv_transpose1d_module,
    nn.ConvTranspose2d: images.conv_transpose2d_module,
    nn.Fold: images.fold_module,
    nn.Upsample: sampling.upsample_module,
    nn.UpsamplingNearest2d: sampling.upsample_module,
    nn.UpsamplingBilinear2d: sampling.upsample_module,
    nn.CTCLoss: alignments.ctc_module,
    _WeightNorm: parametrized.weight_norm,
    _SpectralNorm: parametrized.spectral_norm,
    nn.Unflatten: arranging.unflatten_module,
    nn.Unfold: arranging.unfold_module,
    nn.PixelShuffle: arranging.pixel_shuffle_module,
    nn.PixelUnshuffle: arranging.pixel_unshuffle_module,
    nn.ChannelShuffle: arranging.channel_shuffle_module,
    nn.ConstantPad1d: padding.constant_pad_module,
    nn.ConstantPad2d: padding.constant_pad_module,
    nn.ReflectionPad1d: padding.reflection_pad_module,
    nn.ReflectionPad2d: padding.reflection_pad_module,
    nn.ReplicationPad1d: padding.replication_pad_module,
    nn.ReplicationPad2d: padding.replication_pad_module,
    nn.CircularPad1d: padding.circular_pad_module,
    nn.CircularPad2d: padding.circular_pad_module,
    nn.PairwiseDistance: functional.pairwise_distance_module,
    nn.HuberLoss: losses.huber_module,
    nn.HingeEmbeddingLoss: margins.hinge_embedding_module,
    nn.MarginRankingLoss: margins.margin_ranking_module,
    nn.CosineEmbeddingLoss: margins.cosine_embedding_module,
    nn.TripletMarginLoss: margins.triplet_margin_module,
    nn.SoftMarginLoss: margins.soft_margin_module,
    nn.MultiLabelSoftMarginLoss: margins.multilabel_soft_margin_module,
    nn.MultiMarginLoss: margins.multi_margin_module,
    nn.PoissonNLLLoss: margins.poisson_nll_module,
    nn.GaussianNLLLoss: margins.gaussian_nll_module,
}
"""Class of a PyTorch module -> the function that is compiled in place of its `forward`."""

_OWN_NAMES: dict[ModuleType, str] = {
    activations: "silu leaky_relu elu softplus mish relu6 hardtanh softsign logsigmoid rrelu absolute clamp reciprocal",
    adaptive: "adaptive_max_pool1d adaptive_avg_pool1d adaptive_max_pool2d adaptive_avg_pool2d",
    alignments: "ctc_loss",
    arranging: """
        unfold atleast_1d atleast_2d atleast_3d column_stack dstack
        adjoint msort meshgrid cartesian_prod combinations diagonal trace diag diag_embed diagflat pixel_shuffle
        pixel_unshuffle channel_shuffle image_windows
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
        pairwise_distance normalize cosine_similarity norm vector_norm linalg_norm logsumexp cdist pdist
        generate_square_subsequent_mask
    """,
    gamma: "lgamma digamma",
    images: "conv2d conv_transpose2d fold",
    indexing: "index_select index_add scatter_add scatter_reduce bincount scatter gather index_fill",
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
    normalisation: "rms_norm group_norm instance_norm local_response_norm",
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
    "bilinear": functional.bilinear_function,
    "var": functional.variance,
    "std": functional.standard_deviation,
    "embedding_bag": tables.bags,
    "round": elementwise.rounded,
    "_threshold": elementwise.threshold,
    "cpu": elementwise.unchanged,
    "reshape_as": moving.view_as,
    "swapdims": moving.swapaxes,
    "positive": elementwise.unchanged,
    "sgn": elementwise.sign,
    "fix": elementwise.trunc,
    "row_stack": moving.vstack,
    "trapz": running.trapezoid,
    "batch_norm": normalisation.batch_norm_function,
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


CLASSES: dict[type, type] = {
    queue.PriorityQueue: queues.PriorityQueue,
    queue.Queue: queues.Queue,
    queue.SimpleQueue: queues.Queue,
    queue.LifoQueue: queues.LifoQueue,
    **{
        getattr(torch.distributions, name): getattr(distributions, name)
        for name in ["Categorical", "Bernoulli", "Normal", "Laplace", "Exponential", "Poisson", "Gamma", "Beta"]
    },
}
"""Classes of Python's `queue` and of `torch.distributions` -> the class of which an object is made in place of theirs."""

BUILTINS: dict[str, Callable[..., Any]] = {"any": searching.any_of, "all": searching.all_of}
"""Name of a Python built-in -> the function that is compiled in its place where an argument is known at run time only."""

_OF_MATH = (
    "floor ceil trunc fabs copysign isnan isinf isfinite isclose isqrt prod dist gcd lcm factorial comb perm degrees radians"
)
MATHEMATICS: dict[str, Callable[..., Any]] = {name: getattr(mathematics, name) for name in _OF_MATH.split()}
"""Name of a function of Python's `math` that is no operation of the host -> the function that is compiled in its place."""
