"""Tensors and PyTorch's operations, against eager PyTorch."""
