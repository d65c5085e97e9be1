"""`python -I -m agent`: the same as the `gpudiag` command."""

from agent.cli.main import main

main()
