"""What acts on a call of a tool."""
