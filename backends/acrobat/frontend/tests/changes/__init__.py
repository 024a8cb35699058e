"""Changes in place, and who else may see them."""
