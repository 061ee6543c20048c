"""The imports among the modules of the product."""

import ast
from importlib.util import resolve_name
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def imported_by_modules() -> dict[str, set[str]]:
    """Our modules that each of ours imports: when it is loaded, in functions, and for types."""
    files = {
        ".".join(file.relative_to(ROOT / part).with_suffix("").parts).removesuffix(".__init__"): file
        for part in ("shared", "editor", "worker", "infra")
        for file in (ROOT / part).glob("duebell_*/**/*.py")
    }
    found: dict[str, set[str]] = {}
    for name, file in files.items():
        package = name if file.name == "__init__.py" else name.rpartition(".")[0]
        nodes = list(ast.walk(ast.parse(file.read_text())))
        names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        for node in nodes:
            if isinstance(node, ast.ImportFrom):
                module = resolve_name(f"{'.' * node.level}{node.module or ''}", package)
                names |= {
                    one if (one := f"{module}.{alias.name}") in files else module for alias in node.names
                }
        found[name] = {one for one in names if one in files or one.startswith("duebell")} - {name}
    return found
