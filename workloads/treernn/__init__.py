"""Simple recursive network over trees with a word at every node."""
