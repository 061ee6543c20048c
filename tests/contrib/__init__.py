"""duebell inside frameworks."""
