"""PyTorch runs the model source as it is, one instance after another."""
