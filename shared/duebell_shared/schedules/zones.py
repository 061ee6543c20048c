"""Time zones, from the `tzdata` package only.

`zoneinfo.ZoneInfo(name)` prefers the machine's folder of zones to the package, and machines have different
folders. Between releases 2025b and 2026f, clocks in Vancouver, Winnipeg, Casablanca and Havana differ by an
hour. So an editor and the worker would read one schedule in two ways. Here zones are read from the package.
The process's own setting (`zoneinfo.TZPATH`) is not changed: it belongs to the user.

A `ZoneInfo` that a user puts into a datetime stays the user's: that datetime means what the user's code says.
"""

import pkgutil
from functools import cache
from io import BytesIO
from typing import TYPE_CHECKING

import tzdata

from duebell_shared.errors import InvalidSchedule
from duebell_shared.quoting import nearest, quoted

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

#: The release of IANA's time zone database in the package, such as `2026f`.
TZDATA_VERSION: str = tzdata.IANA_VERSION

#: The zones read so far, by name. Threads that read one at the same time get the same object.
_zones: "dict[str, ZoneInfo]" = {}


def zone_of(name: str) -> "ZoneInfo":
    """The time zone of this IANA name, the same object each time.

    Raises InvalidSchedule, which suggests a similar name.

    Only the names in the package's list are accepted, as they are written there. So `localtime`, `posix/…`
    and `right/…`, which only some machines have, are refused, and so are names of folders and paths.
    """
    if not isinstance(name, str) or name not in zone_names():  # type: ignore[redundant-expr]
        raise InvalidSchedule("timezone", f"{quoted(name)} is no IANA time zone{_hint(name)}")
    zone = _zones.get(name)
    if zone is None:
        from zoneinfo import ZoneInfo  # noqa: PLC0415 (a hundredth of a cold start, and most runs need none)

        content = BytesIO(_content(f"zoneinfo/{name}"))
        zone = _zones.setdefault(name, ZoneInfo.from_file(content, key=name))
    return zone


@cache
def zone_names() -> frozenset[str]:
    """The names of all zones, including those for backward compatibility."""
    return frozenset(_content("zones").decode().split())


def _content(path: str) -> bytes:
    """A file of the package, which may lie in a zip."""
    return pkgutil.get_data("tzdata", path) or b""


def _hint(name: object) -> str:
    near = nearest(name, sorted(zone_names()), likeness=0.5)
    return f"; did you mean {near}?" if near else ", such as Europe/Berlin"
