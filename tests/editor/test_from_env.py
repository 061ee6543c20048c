"""An editor set up by the environment, or told what is wrong with it."""

import pytest

from duebell import Editor, InvalidSettings


@pytest.mark.usefixtures("session")
def test_an_editor_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUEBELL_LANES", "2")
    monkeypatch.setenv("DUEBELL_RULE", "duebell")
    status = Editor.from_env().status()
    assert (status.table, status.rule, status.lanes, status.healthy) == ("duebell", "duebell", 2, True)


def test_an_environment_that_cannot_be_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUEBELL_LANES", "many")
    with pytest.raises(InvalidSettings, match="DUEBELL_LANES: must be a whole number, not 'many'"):
        Editor.from_env()
    monkeypatch.delenv("DUEBELL_LANES")
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    with pytest.raises(InvalidSettings, match="AWS_REGION: is not set: name the region"):
        Editor.from_env()
