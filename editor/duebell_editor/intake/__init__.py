"""The intake: messages of an SQS queue that add tasks and change them, in the JSON of the HTTP API.

A front end of `Editor`, as `http` and `cli` are. `messages.py` reads a message into entries. `effects.py`
adds and changes tasks. `batch.py` says which messages are done, come again or go to the dead letters.
"""

from .batch import Intake

__all__ = ["Intake"]
