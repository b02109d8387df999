"""Servers that stand in for platforms and model providers, each in a process of its own."""
