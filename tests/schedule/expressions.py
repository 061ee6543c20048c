"""Random cron expressions, of both dialects."""

from hypothesis import strategies as st

ZONES = (
    "UTC",
    "America/New_York",
    "Europe/Berlin",
    "Australia/Lord_Howe",
    "America/Sao_Paulo",
    "Pacific/Apia",
    "Africa/Casablanca",
    "Asia/Kolkata",
)

_MONTH_NAMES = ("JAN", "FEB", "MAR", "JUN", "OCT", "DEC")


def _field(least: int, most: int, *names: str, star: bool = True) -> st.SearchStrategy[str]:
    """Lists of numbers, names, ranges and steps within these bounds."""
    number = st.integers(least, most)
    one = number.map(str)
    span = st.tuples(number, number).map(lambda pair: f"{min(pair)}-{max(pair)}")
    step = st.tuples(st.one_of(*([st.just("*")] if star else []), one, span), st.integers(1, 20)).map(
        lambda pair: f"{pair[0]}/{pair[1]}"
    )
    named = [st.sampled_from(names)] if names else []
    part = st.one_of(one, one, span, step, *named)
    listed = st.lists(part, min_size=1, max_size=3).map(",".join)
    return st.one_of(st.just("*"), listed, listed) if star else listed


_MINUTE, _HOUR = _field(0, 59), _field(0, 23)
_MONTH = st.one_of(st.just("*"), _field(1, 12, *_MONTH_NAMES))

_AWS_MONTH_DAY = st.one_of(
    _field(1, 31),
    st.sampled_from(["L", "LW", "1W", "15W", "31W", "L-1", "L-2", "L-30", "1,L", "15W,28"]),
)
_AWS_WEEK_DAY = st.one_of(
    _field(1, 7, "SUN", "MON", "FRI", "SAT"),
    st.sampled_from(["MON-FRI", "L", "6L", "SUNL", "2#1", "FRI#5", "1#2,7L"]),
)
_DAYS = st.one_of(
    _AWS_MONTH_DAY.map(lambda field: (field, "?")), _AWS_WEEK_DAY.map(lambda field: ("?", field))
)
_YEAR = st.sampled_from(["*", "*", "*", "2026-2030", "2027", "2026/2", "2026,2028"])

AWS = st.tuples(_MINUTE, _HOUR, _DAYS, _MONTH, _YEAR).map(
    lambda given: f"cron({given[0]} {given[1]} {given[2][0]} {given[3]} {given[2][1]} {given[4]})"
)
CLASSIC = st.tuples(_MINUTE, _HOUR, _field(1, 31), _MONTH, _field(0, 7, "MON", "SUN", "SAT")).map(" ".join)
