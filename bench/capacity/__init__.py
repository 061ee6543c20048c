"""The cost of each operation in calls to AWS and in DynamoDB's capacity units: exact, by its published
rules."""

from .paths import Path, measure

__all__ = ["Path", "measure"]
