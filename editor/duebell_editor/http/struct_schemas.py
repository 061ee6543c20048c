"""JSON schemas of structs: each field is described as the struct's docstring does."""

import inspect
import re
from typing import Any

import msgspec
from msgspec import Struct

__all__ = ["reference", "schemas_of"]

#: `name, other  what they are`, in the docstring of a struct; longer descriptions are indented.
_DESCRIPTION = re.compile(r"^(\w+(?:, \w+)*) {2,}(\S.*(?:\n +.*)*)", re.MULTILINE)


def reference(name: str) -> dict[str, str]:
    """A reference to the schema of this name."""
    return {"$ref": f"#/components/schemas/{name}"}


def schemas_of(*structs: type[Struct], may_leave_out: bool = False) -> dict[str, Any]:
    """The schemas of structs with their fields described; all are required unless they may be left out."""
    _, made = msgspec.json.schema_components(structs, ref_template=reference("{name}")["$ref"])
    for schema in made.values():
        text = inspect.cleandoc(schema.get("description", "")).replace("None", "null")
        schema["description"] = text
        if fields := schema.get("properties"):
            parts = text.split("\n\n")
            schema["description"] = "\n\n".join(part for part in parts if not _DESCRIPTION.match(part))
            schema["required"] = schema["required"] if may_leave_out else list(fields)
            _describe(fields, text)
    return made


def _describe(fields: dict[str, Any], text: str) -> None:
    for field in fields.values():
        field.pop("default", None)
    for names, words in _DESCRIPTION.findall(text):
        for name in names.split(", "):
            if name in fields:
                fields[name].setdefault("description", words[0].upper() + " ".join(words[1:].split()))
