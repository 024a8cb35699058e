"""An RNN loop inside a GRU loop, both trip counts decided at run time."""
