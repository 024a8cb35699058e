"""Matrix-vector recursive network (MV-RNN) over constituency trees."""
