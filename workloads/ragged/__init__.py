"""A transformer encoder over sentences of different lengths, without padding."""
