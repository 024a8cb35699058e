"""Loops, and the iterators that they walk over."""
