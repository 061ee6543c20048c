"""The JSON of a request, read strictly: what could be understood in two ways is refused."""

import json
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from duebell_shared.payload import MAX_LEVELS
from duebell_shared.quoting import quoted

__all__ = ["JsonRoute"]


class JsonRoute(APIRoute):
    """A route whose bodies are read so."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """FastAPI's own, given a request that reads its body strictly."""
        handle = super().get_route_handler()

        async def handle_strictly(request: Request) -> Response:
            return await handle(_JsonRequest(request.scope, request.receive))

        return handle_strictly


class _JsonRequest(Request):
    async def json(self) -> Any:
        """The body's value. Raises HTTPException: 400, with what is wrong."""
        try:
            return json.loads((await self.body()).decode(), object_pairs_hook=_object)
        except json.JSONDecodeError as error:
            why = f"{error.msg} at character {error.pos}"
        except UnicodeDecodeError:
            why = "it is not UTF-8"
        except RecursionError:
            why = f"it is nested too deeply: a payload has {MAX_LEVELS} levels at most"
        except ValueError as error:
            why = str(error)
        raise HTTPException(400, f"the body is not JSON as it is taken here: {why}")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, value in pairs:
        if name in made:
            raise ValueError(f"the name {quoted(name)} is twice in one object")
        made[name] = value
    return made
