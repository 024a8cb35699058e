"""What is drawn from rows."""
