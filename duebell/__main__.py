"""The command line, as `python -m duebell`."""

from duebell_infra.cli import main

main()
