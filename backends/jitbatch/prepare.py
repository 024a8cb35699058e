"""Makes of a model one that can be recorded: parameters become shared tensors, and modules of torch record in one step."""

from __future__ import annotations

from typing import Any

from torch import nn

from backends.jitbatch.kinds import Kind
from backends.jitbatch.lazy import Lazy, Recording, Shared, Sort


class Direct:
    """Calls of a module of torch on one deferred tensor, past torch's own machinery for calling modules.

    It is mixed into the module's class, so the module is still what `isinstance` says."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and type(args[0]) is Lazy:
            x = args[0]
            known: dict[Sort, Kind] = self.__dict__["_kinds"]
            recorder = Recording.recorder
            kind = known.get(x.sort)
            if kind is not None:
                return recorder.emit(kind, [x.index])
            calls, length = recorder.calls, len(recorder.code)
            result = super().__call__(x)  # type: ignore[misc]
            if recorder.calls == calls + 1 and recorder.code[length + 1 :] == [x.index] and result is recorder.results[-1]:
                known[x.sort] = recorder.kinds.all[recorder.code[length]]
            return result
        return super().__call__(*args, **kwargs)  # type: ignore[misc]


SINGLE = (nn.Linear, nn.LayerNorm, nn.Sigmoid, nn.Tanh, nn.ReLU, nn.GELU)
"""Modules whose forward is one operation."""
_direct: dict[type, type] = {}


def prepare(model: nn.Module) -> nn.Module:
    """Changes `model`, which is the caller's own, and gives it back. It can then be called on deferred tensors only."""
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
            module.__dict__[name] = child  # found without nn.Module's own search
        if type(module) in SINGLE and not (module._forward_hooks or module._forward_pre_hooks):
            module.__dict__["_kinds"] = {}
            cls = type(module)
            if cls not in _direct:
                _direct[cls] = type(cls.__name__, (Direct, cls), {})
            module.__class__ = _direct[cls]
    return model
