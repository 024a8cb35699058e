"""Products with weights, by the libraries that PyTorch comes with. The processor and the number of rows decide which is faster.

`blas`: the library of `torch.addmm`, on weights that were transposed once: with few rows it takes half as long as `nn.Linear`,
which transposes inside the product. `onednn`: oneDNN on weights packed once, which is what torch.compile makes of a frozen
`nn.Linear`. oneDNN generates kernels for the processor it finds, while oneMKL takes an older path on processors that are not
Intel's. It also computes an element-wise function of the results before it stores them, where `blas` goes over them once more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import torch
from torch import Tensor

Library = Literal["blas", "onednn"]
Activation = Literal["none", "sigmoid", "tanh", "relu"]
Product = Callable[[Tensor], Tensor]


IN_PLACE: Mapping[Activation, Callable[[Tensor], Tensor]] = {
    "none": lambda rows: rows,
    "sigmoid": torch.sigmoid_,
    "tanh": torch.tanh_,
    "relu": torch.relu_,
}


def product(library: Library, weight: Tensor, bias: Tensor | None = None, activation: Activation = "none") -> Product:
    """The function from rows [n, in] to activation(rows @ weight.T + bias), [n, out]. `weight` [out, in] is packed now, in a
    copy."""
    if library == "blas":
        transposed, activate = weight.t().contiguous(), IN_PLACE[activation]
        if bias is None:
            return lambda rows: activate(torch.mm(rows, transposed))
        return lambda rows: activate(torch.addmm(bias, rows, transposed))
    packed = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), None)
    linear = torch.ops.mkldnn._linear_pointwise
    # oneDNN does not accept a product without rows.
    return lambda rows: linear(rows, packed, bias, activation, [], "") if len(rows) else rows.new_empty(0, len(weight))


def accumulation(library: Library, weight: Tensor) -> Callable[[Tensor, Tensor], object]:
    """The function (sums, rows) that adds rows @ weight.T to `sums` in place."""
    if library == "blas":
        transposed = weight.t().contiguous()
        return lambda sums, rows: sums.addmm_(rows, transposed)
    multiplied = product(library, weight)
    return lambda sums, rows: sums.add_(multiplied(rows))
