"""A step of the protocol, and the state that all processes share: the case, the records, the steps found."""

from .world import Case, Ingredients, Proc, Records, State, instant

#: Who did what, and the state after it.
Step = tuple[str, str, State]


class Steps:
    """Collects the steps from a state. The methods of a process are given the state without that process."""

    def __init__(self, case: Case, ingredients: Ingredients | None = None) -> None:
        self.case = case
        self.records = Records()
        self._ingredients = ingredients or Ingredients()
        self._settled: dict[tuple[int, int], bool] = {}
        self._steps: list[Step] = []

    def _on(self, who: str, what: str, s: State, *procs: Proc, **changes: object) -> None:
        self._steps.append((who, what, s._replace(procs=tuple(sorted(s.procs + procs)), **changes)))  # type: ignore[arg-type]

    def _is_settled(self, record: int, now: int) -> bool:
        key = (record, now)
        if key not in self._settled:
            self._settled[key] = self.records[record].is_settled(instant(now))
        return self._settled[key]
