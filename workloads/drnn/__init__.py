"""Doubly recurrent network that grows a tree."""
