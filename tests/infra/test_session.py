"""A session for the embedded stack takes nothing from the environment."""

import pytest

from duebell_infra.local.ministack import REGION, embedded_session

HERE = "http://127.0.0.1:4599"
KEY = "DUEBELL1234"


def test_the_environment_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "production")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://elsewhere.invalid")
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://elsewhere.invalid")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "mine")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "mine")
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.invalid:3128")

    session = embedded_session(HERE, KEY)
    client = session.client("dynamodb")

    assert (client.meta.endpoint_url, client.meta.region_name) == (HERE, REGION)
    assert getattr(client.meta.config, "proxies", None) == {}
    assert (credentials := session.get_credentials())
    # The key is the token, too: MiniStack gives functions its own token, and wants the same from all
    assert (credentials.access_key, credentials.token) == (KEY, KEY)
