"""Outcomes that a run writes together, when one of the writes raises an unforeseen error."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from duebell import Worker
from duebell_infra.testing import InlinePool
from duebell_shared.tasks.status import Status
from tests.editor.memory import Scheduler


@pytest.mark.parametrize("verb", ["claim_many", "save_many"])
def test_one_that_raises_takes_no_other_with_it(verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scheduler = Scheduler.start()
    worker = Worker(backend=scheduler.backend, pool=lambda _: InlinePool())
    worker.action("act")(lambda: None)
    ids = ["a", "odd", "b"]
    for id in ids:
        scheduler.editor.add("act", due=timedelta(0), id=id)
    write = getattr(scheduler.store, verb)

    def write_or_raise(batch: Sequence[Any], **how: Any) -> Any:
        if any((one if verb == "claim_many" else one[0]).id == "odd" for one in batch):
            raise ValueError("nobody foresaw it")
        return write(batch, **how)

    monkeypatch.setattr(scheduler.store, verb, write_or_raise)
    scheduler.clock.advance(timedelta(minutes=2))
    worker.run()
    done = [scheduler.editor.get(id).status is Status.DONE for id in ids]
    assert done == [True, False, True]
