"""Child-sum TreeGRU over binary trees."""
