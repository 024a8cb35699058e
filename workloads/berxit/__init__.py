"""Early-exit BERT."""
