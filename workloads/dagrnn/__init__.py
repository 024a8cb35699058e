"""DAG-RNN over image grids."""
