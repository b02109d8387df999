"""What acts on the prompt of one call."""
