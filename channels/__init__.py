"""The doors: one folder per platform, all built alike, and the contract they fulfil."""
