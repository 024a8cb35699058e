"""Whether PyTorch can compute on a device."""

from __future__ import annotations


def missing(device: str) -> str | None:
    """Why PyTorch cannot compute on `device` here; None if it can."""
    import torch

    return None if torch.get_device_module(device).is_available() else f"torch sees no {device.upper()} device"
