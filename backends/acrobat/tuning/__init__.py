"""Tuning: what kernels cost under which schedule, measured on the machine that will run them, and which schedule to take."""
