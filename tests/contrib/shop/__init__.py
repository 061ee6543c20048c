"""A Django app of the tests."""
