"""Sets and dictionaries."""
