"""The translator of seq2seq, decoded by beam search."""
