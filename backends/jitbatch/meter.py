"""The counters of a run."""

from __future__ import annotations


class Meter:
    """Counts of one mini-batch. `nodes` calls were computed in `batches` batches; subtrees count by the calls inside them."""

    def __init__(self) -> None:
        self.nodes = self.batches = self.launches = self.gathered_bytes = 0
        self.copy_ns = self.kernel_ns = 0
        self.unbatched: dict[str, str] = {}
