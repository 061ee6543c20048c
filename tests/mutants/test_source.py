"""A piece of source is found whatever the formatter made of it."""

import pytest

from .source import Module

SOURCE = '''
class Lease:
    def release(self, heads: dict[int, str]) -> None:
        """Give the lanes back."""
        if self.is_held and (
            self.ends > self.now  # it may be over
            or self.is_charmed
        ):
            self.record = self.record.released(
                self.owner,
                heads,
            )
            return self.record
        return self.record and None


def release(heads):
    self.ring("now")
'''


def place(piece: str, scope: str = "") -> tuple[str, str]:
    """The source at this place, and the function around it."""
    places = [place for place in Module("lease.py", SOURCE).find(piece) if scope in place.scope]
    assert len(places) == 1, places
    return " ".join(places[0].text.split()), places[0].scope


@pytest.mark.parametrize(
    "piece",
    [
        "self.record = self.record.released(self.owner, heads)",
        "            self.record = self.record.released(self.owner, heads)\n",
        "self.record = (self.record.released(\n  self.owner, heads\n))",
    ],
)
def test_lines_may_be_broken_elsewhere(piece: str) -> None:
    assert place(piece) == ("self.record = self.record.released( self.owner, heads, )", "Lease.release")


def test_comments_docstrings_and_round_brackets_do_not_count() -> None:
    piece = "heads: dict[int, str]) -> None:\n        if self.is_held and self.ends > self.now or"
    assert place(piece)[1] == "Lease.release"
    assert place(piece)[0].endswith("# it may be over or")


def test_quotes_do_not_count() -> None:
    assert place("self.ring('now')") == ('self.ring("now")', "release")


def test_a_piece_with_its_line_break_ends_where_the_statement_ends() -> None:
    assert place("            return self.record\n") == ("return self.record", "Lease.release")


def test_a_part_of_a_statement_has_the_brackets_that_it_had() -> None:
    assert place("self.owner, heads)")[0] == "self.owner, heads, )"
    assert place("self.record.released(")[0] == "self.record.released("


def test_the_statement_in_its_stead_is_indented_as_it_was() -> None:
    (found,) = Module("lease.py", SOURCE).find("self.record = self.record.released(self.owner, heads)\n")
    broken = found.replaced("if self.owner:\n    self.record = None\n")
    assert "            if self.owner:\n                self.record = None\n            return" in broken
    # And so it is when it was copied with the indentation of its own lines only
    assert found.replaced("if self.owner:\n                    self.record = None") == broken
