"""The devices that cells run on, and what the harness does differently on each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Device:
    processor: bool
    """Whether it is the processor, whose peak is measured, whose instructions are observed and whose energy is counted; memory
    that a process reserves is then memory that it uses, and what is not timed may go on in several processes at once. Otherwise
    it is the GPU of the machine: drivers reserve far more than they use, and what each of several processes has used of it
    cannot be told."""


DEVICES: Mapping[str, Device] = {"cpu": Device(processor=True), "cuda": Device(processor=False)}
"""By the names that `device=` takes, which are also those of folders with code for one device only (`sources.py`)."""
