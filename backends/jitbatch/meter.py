"""What a run did."""

from __future__ import annotations


class Meter:
    """Counts of one mini-batch. `nodes`: calls computed; `batches`: in how many batches."""

    def __init__(self) -> None:
        self.nodes = self.batches = self.launches = self.gathered_bytes = 0
        self.copy_ns = self.kernel_ns = 0
        self.unbatched: dict[str, str] = {}
