"""Numbers and strings."""
