"""The harness: composes cells, isolates and measures them, stores what happened. It knows contracts, not systems."""
