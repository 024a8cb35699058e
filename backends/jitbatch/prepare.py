"""Prepares a model for recording: parameters become shared tensors, and calls of torch's modules are recorded in one step."""

from __future__ import annotations

from typing import Any

from torch import nn

from backends.jitbatch.kinds import Kind
from backends.jitbatch.lazy import Lazy, Recording, Shared, Sort


class Direct:
    """A mixin that records calls of a module on one deferred tensor directly, without torch's machinery for calling modules.

    It is mixed into the module's class, so `isinstance` gives the same answers as before."""

    _kinds: dict[Sort, Kind]

    def __call__(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        if type(x) is not Lazy or args or kwargs:
            return super().__call__(x, *args, **kwargs)  # type: ignore[misc]
        recorder = Recording.recorder
        kind = self._kinds.get(x.sort)
        if kind is not None:
            recorder.code += (kind.number, x.index)
            return recorder.result(kind.sorts[0])
        length = len(recorder.code)
        result = super().__call__(x)  # type: ignore[misc]
        added = recorder.code[length:]
        if len(added) == 2 and added[1] == x.index and result is recorder.results[-1]:
            self._kinds[x.sort] = recorder.kinds.all[added[0]]
        return result


SINGLE = (nn.Linear, nn.LayerNorm, nn.Sigmoid, nn.Tanh, nn.ReLU, nn.GELU)
"""Modules whose forward is one operation."""
_direct: dict[type, type] = {}


def prepare(model: nn.Module) -> nn.Module:
    """Changes `model` in place and returns it; it then takes deferred tensors only. Raises ValueError in training mode."""
    if model.training:
        raise ValueError("jitbatch runs models in evaluation mode: call model.eval()")
    memo: dict[int, Shared] = {}
    for module in model.modules():
        for table in (module._parameters, module._buffers):
            for name, tensor in list(table.items()):
                if tensor is not None and tensor.is_floating_point():
                    shared = memo.setdefault(id(tensor), Shared(tensor.detach()))
                    table[name] = shared  # type: ignore[assignment]
                    module.__dict__[name] = shared
        for name, child in module._modules.items():
            module.__dict__[name] = child  # attribute access then skips the slower search of nn.Module
        if type(module) in SINGLE and not (module._forward_hooks or module._forward_pre_hooks):
            module.__dict__["_kinds"] = {}
            cls = type(module)
            if cls not in _direct:
                _direct[cls] = type(cls.__name__, (Direct, cls), {})
            module.__class__ = _direct[cls]
    return model
