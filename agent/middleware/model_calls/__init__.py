"""What acts on a call of the model."""
