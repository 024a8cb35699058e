"""Shift-reduce parser with a persistent stack of RNN states."""
