"""A batch of intake messages: which are done, which come again and when, and which are dead letters."""

import logging
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from duebell_editor.library.editor import Editor
from duebell_shared.aws.sqs import DEAD_LETTERS, DeadLetter, Sqs, bury, put_back, queue_url
from duebell_shared.deliveries.delivery import target_of
from duebell_shared.errors import InvalidInput, TaskConflict, TaskNotFound, UnreadableTask
from duebell_shared.instants import utc_now
from duebell_shared.log_lines import log_event
from duebell_shared.parallel import Parallel
from duebell_shared.settings import Settings

from .effects import take_effect
from .messages import ALL_RIGHTS, Entry, Message, entries_of

_LOG = logging.getLogger("duebell.intake")

#: Seconds after which a message comes again: twice as many each time.
_FIRST_PAUSE, _LONGEST_PAUSE = 5, 900

#: Deliveries after which a change is given up if its task is missing or does not allow it. They take half an
#: hour: meanwhile the add may come, or an attempt may end.
_PATIENCE = 10

#: Errors of entries that may succeed later, although nobody changes the entry.
_MAY_MEND = (TaskConflict, TaskNotFound, UnreadableTask)

#: A portion with this many entries takes no further message.
_PORTION = 1_000

#: The most characters of a reason.
_LONGEST_REASON = 1_000


class Intake:
    """Takes batches of messages. Make one for a process.

    client  makes clients of AWS, by the name of a service
    settings  its fields for the intake say what messages may do
    """

    def __init__(
        self,
        editor: Editor,
        client: Callable[..., Any],
        *,
        settings: Settings = ALL_RIGHTS,
        clock: Callable[[], datetime] = utc_now,
        parallel: Parallel | None = None,
    ) -> None:
        self._editor = editor
        self._sqs = Sqs(client)
        self._settings = settings
        self.clock = clock
        self._parallel = parallel or Parallel()

    def take(
        self, records: Sequence[Mapping[str, Any]], *, until: datetime | None = None
    ) -> dict[str, list[dict[str, str]]]:
        """Apply the messages of one queue. Returns the messages that come again, as Lambda expects it.

        A message is done when each of its entries took effect, or is a dead letter. If AWS does not
        answer, the message comes again, until the queue's redrive policy takes it. No error is raised.
        https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html

        until  when to stop: the messages that are left then come again. At least one portion is taken, so
               that a batch of any size gets smaller each time
        """
        now = self.clock()
        every = sorted((Message.of(one, now) for one in records), key=lambda message: message.sent)
        untaken = iter(every)
        target = target_of(records[0]["eventSourceARN"])
        client = self._sqs.client(target.region)
        url = queue_url(client, target.account, target.name)
        errors: dict[str, Exception] = {}
        entries = letters = 0
        for portion in _portions(untaken, self._settings):
            failed, buried = self._take_portion(portion, client, url)
            errors |= failed
            entries += len(portion)
            letters += buried
            if until is not None and self.clock() >= until:
                break
        repeated = {*errors, *(one.id for one in untaken)}
        again = {one.id: one for one in every if one.id in repeated}
        if again:
            put_back(client, url, {one.receipt: pause_after(one.received) for one in again.values()})
        log_event(
            _LOG,
            "intake",
            messages=len(records),
            entries=entries,
            dead_letters=letters,
            again=len(again),
            error=next((type(one).__name__ for one in errors.values()), None),
        )
        return {"batchItemFailures": [{"itemIdentifier": id} for id in again]}

    def _take_portion(
        self, entries: Sequence[Entry], client: Any, url: str
    ) -> tuple[dict[str, Exception], int]:
        """Let entries take effect. Returns why messages come again, by id, and how many dead letters."""
        failures = take_effect(self._editor, entries, self._parallel, self._settings)

        of_message: dict[str, list[tuple[Entry, Exception]]] = {}
        for number, failure in sorted(failures.items()):
            of_message.setdefault(entries[number].message.id, []).append((entries[number], failure))
        again = {
            id: failed[0][1]
            for id, failed in of_message.items()
            if not all(_is_final(failure, entry.message) for entry, failure in failed)
        }
        # Messages that come again are left out: their entries would become dead letters twice.
        final = [one for id, failed in of_message.items() if id not in again for one in failed]
        taken = bury(client, url + DEAD_LETTERS, [_letter(*one) for one in final]) if final else []
        for (entry, failure), is_taken in zip(final, taken, strict=True):
            if is_taken:
                _log_dead_letter(entry, failure)
            else:
                again.setdefault(entry.message.id, failure)
        return again, sum(taken)


def _portions(messages: Iterator[Message], settings: Settings) -> Iterator[list[Entry]]:
    """Yields the entries of these messages, in portions that are done within seconds.

    It takes further messages from the iterator only when the next portion is asked for.
    """
    entries: list[Entry] = []
    for message in messages:
        entries += entries_of(message, settings)
        if len(entries) >= _PORTION:
            yield entries
            entries = []
    if entries:
        yield entries


def pause_after(received: int) -> int:
    """Returns the seconds until a message comes again, by the number of times that it was delivered.

    They are random, so that messages that failed together do not all come again together.
    """
    longest = min(_FIRST_PAUSE * 2.0 ** min(received - 1, 20), _LONGEST_PAUSE)
    return round(random.uniform(longest / 2, longest))


def _is_final(failure: Exception, message: Message) -> bool:
    if isinstance(failure, InvalidInput):
        return True
    return isinstance(failure, _MAY_MEND) and message.received >= _PATIENCE


def _letter(entry: Entry, failure: Exception) -> DeadLetter:
    reason = failure.reason if isinstance(failure, InvalidInput) else str(failure)
    attributes = {
        "duebell-reason": _as_attribute(reason),
        "duebell-field": _as_attribute(failure.field) if isinstance(failure, InvalidInput) else "",
        "duebell-message": entry.message.id,
        "duebell-place": "" if entry.place is None else str(entry.place),
        "traceparent": entry.message.traceparent or "",
    }
    return DeadLetter(entry.body, {name: text for name, text in attributes.items() if text})


def _as_attribute(text: str) -> str:
    return "".join(one if one.isprintable() else "?" for one in text[:_LONGEST_REASON])


def _log_dead_letter(entry: Entry, failure: Exception) -> None:
    """Log a dead letter, without the reason, as it may repeat a part of a payload."""
    log_event(
        _LOG,
        "intake_dead_letter",
        level=logging.WARNING,
        message_id=entry.message.id,
        place=entry.place,
        error=type(failure).__name__,
        field=failure.field if isinstance(failure, InvalidInput) else None,
    )
