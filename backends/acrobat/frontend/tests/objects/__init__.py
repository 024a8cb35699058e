"""Objects: of the instance, made by the model, and known at compile time."""
