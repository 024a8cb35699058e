"""Dynamic models as plain one-instance PyTorch, one folder each, all behind `bench.contract.Workload`."""
