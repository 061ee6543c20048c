"""The command line. Needs typer and rich: `pip install 'duebell[cli]'`."""
