"""Functions that are values, and which function a call means."""
