"""The functions of a model's shared object, as Python calls them, and the order of the counters that one of them gives."""

from __future__ import annotations

import ctypes
from pathlib import Path
from types import SimpleNamespace

from backends.acrobat.codegen.module import PREFIX

COUNTERS = (
    *("ingest_ms", "construct_ms", "schedule_ms", "kernel_ms", "copy_ms", "fetch_ms"),
    *(
        "nodes",
        "batches",
        "launches",
        "waits",
        "executions",
        "gathered_bytes",
        "product_flops",
        "host_bytes",
        "tensor_bytes",
        "library_calls",
        *("blocked_ms", "device_launches", "steps", "barriers", "uploaded_bytes"),
    ),
)


def library(path: Path, prefix: str = PREFIX) -> SimpleNamespace:
    """Loads a shared object and declares the types of its functions; `<prefix>_model` is the one that returns the model."""
    lib = ctypes.PyDLL(str(path))
    functions = SimpleNamespace()
    void, py_object, integer = ctypes.c_void_p, ctypes.py_object, ctypes.c_int
    declare = {
        "acrobat_model": (void, []),
        "acrobat_create": (
            void,
            [void, integer, ctypes.c_uint64, *[integer] * 3, ctypes.c_int64, *[integer] * 2, ctypes.c_int64, void],
        ),
        "acrobat_destroy": (integer, [void]),
        "acrobat_set_gemm": (None, [void, void, integer, void, void]),
        "acrobat_add_weight": (None, [void, void]),
        "acrobat_add_packed": (None, [void, void]),
        "acrobat_add_class": (integer, [void, py_object, py_object, integer]),
        "acrobat_set_outside": (py_object, [void, py_object, py_object, py_object, ctypes.c_char_p]),
        "acrobat_set_python": (integer, [void, py_object, py_object, py_object, py_object, py_object, py_object]),
        "acrobat_add_idle": (None, [void, void, void]),
        "acrobat_watch": (integer, [void, py_object, py_object]),
        "acrobat_running": (integer, [void]),
        "acrobat_run": (py_object, [void, py_object, py_object, integer]),
        "acrobat_counters": (ctypes.POINTER(ctypes.c_double), [void]),
        "acrobat_set_logging": (None, [void, integer]),
        "acrobat_log": (py_object, [void]),
        "acrobat_keep_graphs": (None, [void, integer]),
        "acrobat_graphs": (py_object, [void]),
        "acrobat_lower_bound": (ctypes.c_int64, [void]),
        "acrobat_learn": (py_object, [void, ctypes.c_int64, ctypes.c_uint64]),
        "acrobat_set_policy": (integer, [void, integer, py_object]),
        "acrobat_cuda_open": (integer, [void, integer, integer, void, integer, integer, void, void, integer]),
        "acrobat_cuda_hold": (ctypes.c_uint64, [void, void, ctypes.c_uint64]),
        "acrobat_cuda_refill": (integer, [void, ctypes.c_uint64, void, ctypes.c_uint64]),
        "acrobat_cuda_stream": (integer, [void, void]),
        "acrobat_cuda_read_clocks": (None, [void]),
        "acrobat_cuda_clocks": (ctypes.POINTER(ctypes.c_int64), [void, ctypes.POINTER(ctypes.c_int64)]),
    }
    for name, (result, arguments) in declare.items():
        function = getattr(lib, f"{prefix}_model" if name == "acrobat_model" else name)
        function.restype, function.argtypes = result, arguments
        setattr(functions, name, function)
    return functions
