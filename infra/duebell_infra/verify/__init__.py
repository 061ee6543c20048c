"""`duebell verify`: every form of call that duebell makes, made once against a scheduler as it is deployed.

It shows what no emulator shows, only the user's own account. It is safe on a queue that is in use: see
`own_tasks.py` and `record.py`.
"""

from .check import When
from .checks import verify
from .finding import Finding, Result

__all__ = ["Finding", "Result", "When", "verify"]
