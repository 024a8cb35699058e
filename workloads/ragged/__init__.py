"""A transformer encoder over sentences of their own lengths."""
