"""The editor: services add, list and change tasks with it. Users import its names from `duebell`."""
