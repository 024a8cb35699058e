"""Bidirectional RNN tagger over sentences."""
