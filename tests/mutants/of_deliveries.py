"""Mutants of deliveries: what is sent, what counts as accepted, and what a run does with it."""

from .mutant import Killer, Mutant

__all__ = ["OF_DELIVERIES"]

_DELIVERIES = "worker/duebell_worker/deliveries"
_PERFORMER = "worker/duebell_worker/run/performer.py"

OF_DELIVERIES = (
    Mutant(
        name="an entry that no answer names counts as accepted",
        file=f"{_DELIVERIES}/queue.py",
        line='failed.get(place, Answer("NoAnswer", ""))',
        broken="failed.get(place)",
        why="a message is lost",
        killers=(Killer.DELIVERIES,),
    ),
    Mutant(
        name="an event that was refused counts as accepted",
        file=f"{_DELIVERIES}/bus.py",
        line='if one.get("ErrorCode") else None',
        broken="if False else None",
        why="an event is lost",
        killers=(Killer.DELIVERIES,),
    ),
    Mutant(
        name="one message that is refused fails its batch",
        file=f"{_DELIVERIES}/deliverer.py",
        line="if messages[1:] and not concerns_all(error):",
        broken="if False:",
        why="nine tasks fail for good for the fault of another",
        killers=(Killer.DELIVERIES,),
    ),
    Mutant(
        name="an answer has a limit of time for each read only",
        file=f"{_DELIVERIES}/connections.py",
        line="self.fp = io.BufferedReader(_Limited(sock, _ANSWER))",
        broken='self.fp = sock.makefile("rb")',
        why="an endpoint that sends a byte now and then holds a place for hours",
        killers=(Killer.DELIVERIES,),
    ),
    Mutant(
        name="each attempt has a key of its own",
        file=f"{_DELIVERIES}/message.py",
        line="render(task.created_at)",
        broken="str(task.attempt)",
        why="the receiving side cannot drop what is sent twice",
        killers=(Killer.DELIVERIES,),
    ),
    Mutant(
        name="a delivery under way counts as not started",
        file=_PERFORMER,
        line="attempt.started = None if has_left else task",
        broken="attempt.started = None",
        why="a run that leaves gives back what it has sent, so that the attempt does not count",
        killers=(Killer.DELIVERIES,),
    ),
    Mutant(
        name="deliveries are sent after the run has left",
        file=_PERFORMER,
        line="errors = [] if has_left else self._send([task for _, task in tasks])",
        broken="errors = self._send([task for _, task in tasks])",
        why="a task that was given back, and that the next run sends, is sent once more",
        killers=(Killer.DELIVERIES,),
    ),
    Mutant(
        name="deliveries under way are without number",
        file="worker/duebell_worker/run/attempts.py",
        line="in_places < places and len(self._under_way) < places + _IN_BATCHES",
        broken="in_places < places",
        why="memory fills with tasks that wait for a slow service",
        killers=(Killer.DELIVERIES,),
    ),
    Mutant(
        name="deliveries under way are without number in a worker that has nothing else",
        file="worker/duebell_worker/run/attempts.py",
        line="return room >= (1 if self._to_claim else AT_ONCE)",
        broken="return True",
        why="memory fills with tasks that wait for a slow service",
        killers=(Killer.DELIVERIES,),
    ),
    Mutant(
        name="what is too few for a call is left to nobody",
        file="worker/duebell_worker/run/batcher.py",
        line="            if not self._waiting or self._is_left_to(self._calls - 1):",
        broken="            if not self._waiting or self._is_left_to(self._calls):",
        why="the last outcomes are never recorded, and the run waits for them to its end",
        killers=(Killer.BATCHER,),
    ),
)
