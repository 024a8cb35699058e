"""Translation with attention, greedy until the end of the sentence."""
