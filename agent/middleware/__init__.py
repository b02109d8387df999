"""Behaviour that belongs to no one feature, one class a file."""
