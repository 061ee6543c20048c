"""The environment of services with an editor."""

from duebell_shared.settings import Settings

__all__ = ["environment_of"]


def environment_of(settings: Settings) -> dict[str, str]:
    """The variables of this scheduler for its editors.

    Settings of the history, the label, the bell and the intake are in it only if they are not the defaults.
    An editor needs the history's as well as the worker: it ends the tasks that it cancels.
    """
    default = Settings()
    kept = {
        "DUEBELL_RETENTION_DAYS": (settings.retention.days, default.retention.days),
        "DUEBELL_HISTORY": (settings.history, default.history),
        "DUEBELL_KEPT_PAYLOAD": (settings.kept_payload, default.kept_payload),
        "DUEBELL_LABEL": (settings.label, default.label),
        "DUEBELL_COLOR": (settings.color, default.color),
        "DUEBELL_BELL": (settings.bell, default.bell),
        "DUEBELL_INTAKE": (settings.intake, default.intake),
    }
    return {
        "DUEBELL_TABLE": settings.table,
        "DUEBELL_RULE": settings.rule,
        "DUEBELL_FUNCTION": settings.function or "",
        **{name: str(value) for name, (value, usual) in kept.items() if value != usual},
    }
