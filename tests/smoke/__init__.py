"""What an installed duebell must be able to do; `make dist` runs it beside nothing but the package."""
