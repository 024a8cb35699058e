"""The layouts in which kernels read weights. An emitter describes a layout in a way that survives JSON; `pack` carries it out.

- `plain`: the elements in order.
- `panels`: the columns of a product (rows of a [N, K] weight, elements of an [N] bias) in panels of `lanes` units, each with
  the same units of all `gates`: [panel][k][gate][lane]. The units are padded with zeros to `panels * lanes`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from backends.acrobat.core.units import Kernel, Mode
from backends.acrobat.core.unwritten import Source, Unwritten, write

Packing: TypeAlias = Mapping[str, Any]

PLAIN: Packing = {"layout": "plain"}


def panels(gates: int, lanes: int, count: int) -> Packing:
    """The description of a weight that is packed panel by panel."""
    return {"layout": "panels", "gates": gates, "lanes": lanes, "panels": count}


def layouts(kernel: Kernel, packed: Mapping[str, Packing] | None = None) -> dict[str, Packing]:
    """The layout of each shared operand of a kernel, by its name: as `packed` says, else plain."""
    return {p.name: (packed or {}).get(p.name, PLAIN) for p in kernel.params if p.mode is Mode.SHARED}


def pack(description: Packing, array: np.ndarray) -> np.ndarray:
    """The weight as the kernel reads it: one-dimensional, aligned to 64 bytes."""
    return aligned(packed(description, array))


def packed(description: Packing, array: np.ndarray) -> Source:
    """What `pack` gives, in more dimensions, to be written to where it shall lie."""
    if description["layout"] == "plain":
        return np.asarray(array)
    gates, lanes, count = description["gates"], description["lanes"], description["panels"]
    columns = array.reshape(gates, array.shape[0] // gates, -1)
    units = columns.shape[1]

    def fill(panels: np.ndarray) -> None:
        padded = columns
        if units < count * lanes:
            padded = np.zeros((gates, count * lanes, columns.shape[2]), np.float32)
            padded[:, :units] = columns
        np.copyto(panels, padded.reshape(gates, count, lanes, -1).transpose(1, 3, 0, 2))

    return Unwritten((count, columns.shape[2], gates, lanes), fill)


def aligned(array: Source) -> np.ndarray:
    """A flat copy whose data starts at a multiple of 64 bytes."""
    room = np.empty(array.nbytes + 64, np.uint8)
    start = -room.ctypes.data % 64
    copy = room[start : start + array.nbytes].view(array.dtype)
    write(array, copy.reshape(array.shape))
    return copy
