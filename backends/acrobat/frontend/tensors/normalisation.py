"""Softmax and layer normalisation, of dense and of ragged tensors."""

from __future__ import annotations

from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments, Refused, constant
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.kinds import is_ragged
from backends.acrobat.frontend.tensors.fixing import with_extents
from backends.acrobat.frontend.tensors.lifting import axis, dim_of, op, over_rows, shape, shape_of
from backends.acrobat.frontend.tensors.operations import call_operation, operation, ragged
from backends.acrobat.frontend.tensors.reductions import along
from backends.acrobat.frontend.values import Dyn, Static, Value


@operation("softmax")
def _softmax_dense(f: Frame, call: CallArguments) -> Dyn:
    x, dim, _ = call.bind("input", "dim", "dtype", dtype=None)
    return op(f, "softmax", [x], {"dim": dim_of(dim, len(shape_of(x)), "softmax")})


@operation("log_softmax")
def _log_softmax(f: Frame, call: CallArguments) -> Dyn:
    x, dim, _ = call.bind("input", "dim", "dtype", dtype=None)
    along = {"dim": dim_of(dim, len(shape_of(x)), "log_softmax"), "keepdim": True}
    shifted = op(f, "sub", [x, op(f, "max", [x], along)])
    return op(f, "sub", [shifted, op(f, "log", [op(f, "sum", [op(f, "exp", [shifted])], along)])])


@ragged("softmax", "log_softmax")
def _softmax_ragged(f: Frame, c: CallArguments) -> Value | None:
    v, dim, _ = c.bind("input", "dim", "dtype", dtype=None)
    return along(f, c.name, v, dim_of(dim, len(shape(v)), c.name), True)


@operation("layer_norm")
def _layer_norm(f: Frame, call: CallArguments) -> Dyn:
    x, shape, w, b, eps = call.bind(
        "input", "normalized_shape", "weight", "bias", "eps", weight=None, bias=None, eps=Static(1e-5)
    )
    sizes = constant(f.static_list(shape), "the normalised shape")
    if len(sizes) != 1:
        raise Refused("`layer_norm` over more than the last dimension is not an operation of the language")
    w, b = (
        op(f, "full", [], {"shape": tuple(sizes), "value": number}) if v is None or v == Static(None) else v
        for v, number in ((w, 1.0), (b, 0.0))
    )
    return op(f, "layer_norm", [x, w, b], {"eps": float(constant(eps, "eps"))})


@ragged("layer_norm")
def _layer_norm_ragged(f: Frame, c: CallArguments) -> Value | None:
    v, *rest = c.args
    if shape(v)[-1] is None:
        given = c.bind("input", "normalized_shape", "weight", "bias", "eps", weight=None, bias=None, eps=None)[1]
        v = with_extents(f, v, [constant(f.static_list(given), "the normalised shape")[-1]], "as `layer_norm` takes it")
        if not is_ragged(v):
            return call_operation(f, c.name, CallArguments(c.name, [v, *rest], c.kwargs))
    return over_rows(f, v, axis(v), lambda row: call_operation(f, c.name, CallArguments(c.name, [row, *rest], c.kwargs)))
