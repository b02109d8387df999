"""What acts on the history the model is shown."""
