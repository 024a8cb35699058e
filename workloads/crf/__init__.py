"""BiLSTM tagger with a conditional random field, decoded by Viterbi."""
