"""Thousands of requests, right and wrong, that schemathesis makes up from the API's own description."""

import contextlib
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import Case, GenerationMode, openapi
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.page.scene import Scene
from tests.serving import serving

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]

#: Requests for each operation, of each kind; there are sixteen operations and two kinds.
EACH = 120

#: It never ends, so it is tested elsewhere.
ENDLESS = "/api/changes"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A server with a few tasks, which the examples of the description name."""
    scene = Scene()
    scene.furnish()
    scene.editor.add("x", due=timedelta(days=1), id="sale-42", if_exists="replace")
    with serving(scene.editor) as url:
        yield url


def test_whatever_is_asked_the_answer_is_one_that_is_described(url: str) -> None:
    described = openapi.from_url(f"{url}openapi.json").exclude(path=ENDLESS)
    answers: Counter[int] = Counter()
    for found in described.get_all_operations():
        assert isinstance(found, Ok)
        operation = found.ok()
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):

            @given(case=operation.as_strategy(generation_mode=mode))
            @settings(
                max_examples=EACH,
                deadline=None,
                database=None,
                derandomize=True,
                suppress_health_check=list(HealthCheck),
            )
            def ask(case: Case[Any]) -> None:
                response = case.call(timeout=30)
                answers[response.status_code] += 1
                case.validate_response(response, checks=CHECKS)

            with contextlib.suppress(Unsatisfiable):  # nothing can be wrong where nothing is given
                ask()
    assert answers.total() >= 2_000
    assert {200, 201, 404, 409, 422} <= set(answers)
