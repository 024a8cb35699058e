"""Child-sum TreeLSTM over constituency trees."""
