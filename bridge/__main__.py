"""`python -m bridge` is `threadbridge`."""

from bridge.cli import main

main()
