"""The terms that editor and worker share: tasks, arming, the table, the rule, errors."""
