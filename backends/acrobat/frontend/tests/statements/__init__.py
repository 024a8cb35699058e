"""`match` and `try`."""
