"""Real DyNet, with one hand-written program per workload: a module named after it, with a class `Program`."""
