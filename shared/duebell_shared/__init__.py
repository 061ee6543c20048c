"""What the editor and the worker both speak: tasks, arming, the table, the rule, errors."""
