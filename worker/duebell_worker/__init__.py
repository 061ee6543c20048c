"""The worker: actions, and the Lambda that runs them when the rule rings. Users import it from `duebell`."""
