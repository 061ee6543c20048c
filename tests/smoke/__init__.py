"""Tests of an installed duebell; `make dist` runs them beside nothing but the package."""
