"""Tests of the harness, on a toy workload and fake backends (fakes/, faults.py)."""
