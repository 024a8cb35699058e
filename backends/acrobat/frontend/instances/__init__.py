"""What instances are: types from annotations and from a sample, and where the program's values differ from Python's."""
