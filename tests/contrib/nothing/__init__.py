"""A Django app without tasks."""
