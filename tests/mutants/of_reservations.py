"""Mutants of reserved tasks: of runs that leave or drop them, and of transactions that confirm them."""

from .mutant import Killer, Mutant

__all__ = ["OF_RESERVATIONS"]

_TASK = "shared/duebell_shared/task.py"
_CHANGES = "shared/duebell_shared/task_changes.py"
_RUN = "worker/duebell_worker/run.py"
_RESERVATIONS = "worker/duebell_worker/reservations.py"
_TAKEN = "editor/duebell_editor/taken_ids.py"
_COMMIT = "editor/duebell_editor/commit.py"
_TRANSACTION = "editor/duebell_editor/transaction.py"
_TRANSACTIONS = "editor/duebell_editor/transaction_editor.py"

_OF_RUNS = (Killer.RESERVED,)
_OF_EDITORS = (Killer.TRANSACTIONS,)

OF_RESERVATIONS = (
    Mutant(
        name="a reservation expires by the editor's clock",
        within="Task.reserved",
        file=_TASK,
        line="to_utc(until) + MOST_SKEW",
        broken="to_utc(until)",
        why="a run whose clock is ahead drops a task whose transaction has time",
        killers=_OF_RUNS,
        is_fast=True,
    ),
    Mutant(
        name="a confirmed task expires",
        within="Task.confirmed",
        file=_TASK,
        line=", expires_at=None)",
        broken=")",
        why="DynamoDB deletes a task that was confirmed",
        killers=_OF_EDITORS,
        is_fast=True,
    ),
    Mutant(
        name="a confirmation does not count as a change",
        within="Task.confirmed",
        file=_TASK,
        line="self._changed(status=Status.SCHEDULED, reservation=None",
        broken="replace(self, status=Status.SCHEDULED, reservation=None",
        why="someone who has read the reserved task changes it by the rev of then",
        killers=_OF_EDITORS,
    ),
    Mutant(
        name="a reservation is known by its rev alone",
        within="_as_it_was",
        file=_CHANGES,
        line="{} if old.reservation is None else stored(reservation=old.reservation)",
        broken="{}",
        why="the transaction of an earlier reservation confirms the one that took it over",
        killers=(Killer.TRANSACT,),
        is_fast=True,
    ),
    Mutant(
        name="reserved tasks are not told apart",
        within="_Run._run_abandoned",
        file=_RUN,
        line="if not self._reservations.settle(self._reader.tasks_of([key])):",
        broken="if True:",
        why="a reserved task waits five minutes, and is never dropped",
        killers=_OF_RUNS,
        is_fast=True,
    ),
    Mutant(
        name="several reserved tasks are each claimed as left running",
        within="_Run._run_abandoned",
        file=_RUN,
        line="settled = self._reservations.settle(found)",
        broken="settled = set[QueueKey]()",
        why="each costs a write that is refused",
        killers=_OF_RUNS,
    ),
    Mutant(
        name="a reserved task is dropped within its grace",
        within="_is_over",
        file=_RESERVATIONS,
        line="task.expires_at is None or task.expires_at <= now",
        broken="True",
        why="transactions fail that have time",
        killers=_OF_RUNS,
        is_fast=True,
    ),
    Mutant(
        name="a reserved task is read again only when its grace is over",
        within="again_after",
        file=_RESERVATIONS,
        line="return min(now + wait, task.expires_at or now)",
        broken="return task.expires_at or now",
        why="a transaction of a second makes its task minutes late",
        killers=_OF_RUNS,
        is_fast=True,
    ),
    Mutant(
        name="a confirmed task is taken for one that cannot be run",
        within="Reservations.settle",
        file=_RESERVATIONS,
        line="confirmed = {key for key, task in found.items() if _is_startable(task, key)}",
        broken="confirmed = set[QueueKey]()",
        why="a task that is confirmed between two claims of a run is five minutes late",
        killers=_OF_RUNS,
        is_fast=True,
    ),
    Mutant(
        name="a refused drop is not looked at again",
        within="Reservations._drop",
        file=_RESERVATIONS,
        line="self._trouble.leave(key, until=self._context.now() + _SHORTEST)",
        broken="pass",
        why="a task that was confirmed at this moment is not in the heads that the run knows",
        killers=_OF_RUNS,
    ),
    Mutant(
        name="a reservation replaces any task",
        within="settle",
        file=_TAKEN,
        line="if there and takes_over and there.status is not Status.RESERVED:",
        broken="if False:",
        why="a task that was added is lost",
        killers=_OF_EDITORS,
        is_fast=True,
    ),
    Mutant(
        name="a reserved task is kept",
        within="_kept",
        file=_TAKEN,
        line="if there.status is Status.RESERVED:",
        broken="if False:",
        why="an add is told that its task is there, and it is dropped",
        killers=_OF_EDITORS,
    ),
    Mutant(
        name="each try of a commit is another transaction",
        within="commit",
        file=_COMMIT,
        line="backend.store.transact(writes, token=token)",
        broken="backend.store.transact(writes, token=uuid4().hex)",
        why="a transaction is made twice when an answer is lost",
        killers=_OF_EDITORS,
    ),
    Mutant(
        name="a refusal after a lost answer is believed",
        within="commit",
        file=_COMMIT,
        line="if not is_sure and _is_committed(backend, writes):",
        broken="if False:",
        why="the caller is told that a committed transaction is not",
        killers=_OF_EDITORS,
        is_fast=True,
    ),
    Mutant(
        name="a transaction without reservations is said to be over",
        within="commit",
        file=_COMMIT,
        line="if not is_sure and not is_over:",
        broken="if False:",
        why="a try that was not answered is committed later",
        killers=_OF_EDITORS,
    ),
    Mutant(
        name="a cancelled reservation counts as confirmed",
        within="_is_made",
        file=_COMMIT,
        line="there.reservation is None and there.rev > write.old.rev",
        broken="there.rev > write.old.rev",
        why="the caller is told that a transaction is committed which is not",
        killers=_OF_EDITORS,
    ),
    Mutant(
        name="an unknown transaction loses its reservations",
        within="Transaction._commit",
        file=_TRANSACTION,
        line="if not isinstance(error, TransactionUnknown):",
        broken="if True:",
        why="a transaction that may be under way fails",
        killers=_OF_EDITORS,
    ),
    Mutant(
        name="a transaction moves a task to any time",
        within="TransactionEditor._write",
        file=_TRANSACTIONS,
        line="if changed.queued and (task.queued is None or changed.queued < task.queued):",
        broken="if False:",
        why="nothing rings for an earlier date",
        killers=_OF_EDITORS,
        is_fast=True,
    ),
)
