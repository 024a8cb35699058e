"""Lattice LSTM over the characters of Chinese sentences and the words of a lexicon that they may form."""
