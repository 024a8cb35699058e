"""Fully connected cell over full binary trees."""
