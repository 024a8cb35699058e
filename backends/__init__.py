"""Systems under test, one folder each, all behind `bench.contract.Backend`."""
