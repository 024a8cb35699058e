"""Relatedness of two sentences, each read by the same TreeLSTM."""
