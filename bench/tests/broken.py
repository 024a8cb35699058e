"""A module of a backend that cannot be imported."""

raise RuntimeError("half of me is missing")
