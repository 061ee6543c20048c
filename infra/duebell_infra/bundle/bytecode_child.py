"""Compiles the sources that the JSON document on standard input names: a script for the target's Python.

It imports nothing of duebell. Sources that this Python cannot compile are passed over.
"""

import json
import sys
import warnings
from pathlib import Path
from py_compile import PycInvalidationMode, PyCompileError
from py_compile import compile as compile_file


def main() -> int:
    """Write the compiled files, each where Python looks for it. Returns 1 if this is another Python."""
    asked = json.load(sys.stdin)
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    if (sys.implementation.name, version) != ("cpython", asked["python"]):
        return 1
    warnings.simplefilter("ignore")
    for name, source in asked["sources"].items():
        place = Path(asked["folder"], name)
        compiled = place.parent / "__pycache__" / f"{place.stem}.{sys.implementation.cache_tag}.pyc"
        try:
            compile_file(
                source,
                str(compiled),
                f"{asked['root']}/{name}",
                doraise=True,
                invalidation_mode=PycInvalidationMode.UNCHECKED_HASH,
            )
        except PyCompileError:
            continue
    return 0


if __name__ == "__main__":
    sys.exit(main())
