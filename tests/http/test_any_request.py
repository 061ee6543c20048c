"""Requests by the thousand, right and wrong, that schemathesis makes up from the API's own description."""

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from hypothesis.strategies import SearchStrategy
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

pytestmark = pytest.mark.slow

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]

#: Requests for each operation, of each kind; there are sixteen operations and two kinds.
EACH = 6

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


def test_each_answer_is_described_whatever_the_request(url: str) -> None:
    described = openapi.from_url(f"{url}openapi.json").exclude(path=ENDLESS)
    answers: Counter[int] = Counter()

    def ask(case: Case[Any]) -> None:
        response = case.call(timeout=30)
        answers[response.status_code] += 1
        case.validate_response(response, checks=CHECKS)

    def ask_for_any_rev(case: Case[Any]) -> None:
        case.headers.clear()  # the example of If-Match goes with a task that is there
        ask(case)

    for found in described.get_all_operations():
        assert isinstance(found, Ok)
        operation = found.ok()
        # The examples of the description come first: a made-up task is never sure to be added
        for examples in operation.get_strategies_from_examples():
            for_each(examples, ask_for_any_rev, 1)
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            with contextlib.suppress(Unsatisfiable):  # nothing can be wrong where nothing is given
                for_each(operation.as_strategy(generation_mode=mode), ask, EACH)
    assert answers.total() >= 300
    assert {200, 201, 404, 409, 422} <= set(answers)


def for_each(cases: SearchStrategy[Case[Any]], ask: Callable[[Case[Any]], None], most: int) -> None:
    @given(cases)
    @settings(
        max_examples=most,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    def ask_each(case: Case[Any]) -> None:
        ask(case)

    ask_each()
