"""Benchmarks of hand-batched programs: `scripts/benchmark handbatched` runs them."""
