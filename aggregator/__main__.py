"""`python -m aggregator`."""

from aggregator.cli import main

main()
