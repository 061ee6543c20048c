"""Mutants of how a worker makes itself known, and of what editors do by that."""

from .mutant import Killer, Mutant

__all__ = ["OF_THE_WORKER_RECORD"]

_REGISTRATION = "worker/duebell_worker/actions/registration.py"
_VALUES = "shared/duebell_shared/tasks/worker_record.py"
_KNOWN = "editor/duebell_editor/library/known_worker.py"
_SYNC = "editor/duebell_editor/library/sync.py"
_TABLE = "shared/duebell_shared/queue/table.py"

OF_THE_WORKER_RECORD = (
    Mutant(
        name="new code is imported before the rule is armed",
        within="Registration.begin",
        file=_REGISTRATION,
        line="record.begun(self._mark))\n        self._arm()\n",
        broken="record.begun(self._mark))\n",
        why="a module that exits leaves the rule in the past for good",
        killers=(Killer.REGISTRATION,),
    ),
    Mutant(
        name="new code is not marked before it is imported",
        within="Registration.begin",
        file=_REGISTRATION,
        line="        self._write(lambda record: record.begun(self._mark))\n",
        broken="",
        why="a process that ends in the import is never told of",
        killers=(Killer.REGISTRATION,),
    ),
    Mutant(
        name="a start that lost against another is not written",
        file=_REGISTRATION,
        line="            self._record = self._read(consistent=True)\n",
        broken="            return\n",
        why="the record says what an older start said",
        killers=(Killer.REGISTRATION,),
    ),
    Mutant(
        name="each start that does not end makes its mark anew",
        within="WorkerRecord.begun",
        file=_VALUES,
        line="return self if tried and tried.version == mark.version else replace(self, starting=mark)",
        broken="return replace(self, starting=mark)",
        why="while Lambda tries again each minute, no start ever counts as lost",
        killers=(Killer.WORKER_RECORD,),
    ),
    Mutant(
        name="a start forgets which tasks code has declared",
        within="WorkerRecord.started",
        file=_VALUES,
        line="return replace(self._ended(fitting), declared=declared, is_all=is_all)",
        broken="return replace(self._ended(fitting), declared=declared, is_all=is_all, synced=())",
        why="what is declared no more runs for ever",
        killers=(Killer.WORKER_RECORD,),
    ),
    Mutant(
        name="a task is refused by what was read a minute ago",
        within="KnownWorker.check",
        file=_KNOWN,
        line="            self._read(now, consistent=True)  # a new version may have been deployed\n",
        broken="            pass\n",
        why="the action that was just deployed is refused",
        killers=(Killer.KNOWN_WORKER,),
    ),
    Mutant(
        name="an editor that may not read the worker does not add",
        within="KnownWorker._read",
        file=_KNOWN,
        line="        except DuebellError as error:\n",
        broken="        except ZeroDivisionError as error:\n",
        why="a policy that was given out before stops every add",
        killers=(Killer.KNOWN_WORKER,),
    ),
    Mutant(
        name="declared tasks are added before they are listed",
        within="Syncer.sync",
        file=_SYNC,
        line="        self._note(lambda synced: synced | declared.keys())\n",
        broken="",
        why="after a crash, a task that is declared no more is never cancelled",
        killers=(Killer.SYNC,),
    ),
    Mutant(
        name="a sync leaves the rule to an earlier one that failed",
        within="Syncer.sync",
        file=_SYNC,
        line="        self._rule.arm([there[id] for id in declared if id in there])\n",
        broken="",
        why="a task that is stored is not rung for, however often the sync is repeated",
        killers=(Killer.SYNC,),
    ),
    Mutant(
        name="a sync cancels what a person put in its place",
        within="_steps",
        file=_SYNC,
        line="found.recurrence.declared and not found.status.is_finished",
        broken="not found.status.is_finished",
        why="a task that code never declared is cancelled",
        killers=(Killer.SYNC,),
    ),
)
