"""Who is on a page, told through the callbacks of windows."""

from contextlib import ExitStack
from uuid import uuid4

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.domain.entry import EntryId
from mirrord.web.presence import MAX_NAME_CHARACTERS, MAX_NAMES, Presence, Window, shown_name_of

TENANT, PAGE = uuid4(), EntryId(uuid4())


def others(calls: list[Window]) -> list[str]:
    """The names that the window of the last call shows."""
    names: list[str] = calls.pop().list_others()["people"]
    return names


def test_people_come_and_go_and_a_second_window_counts_once() -> None:
    presence, ada = Presence(), list[Window]()
    with presence.window(TENANT, PAGE, "a", "Ada", ada.append):
        assert others(ada) == []
        with presence.window(TENANT, PAGE, "b", "Bo", lambda _: None):
            assert others(ada) == ["Bo"]
            second = list[Window]()
            with (
                presence.window(TENANT, PAGE, "b", "Bo", lambda _: None),
                presence.window(TENANT, PAGE, "a", "Ada", second.append),
            ):
                assert others(second) == ["Bo"]
            assert ada == []
        assert others(ada) == []
    assert presence._places == {}


def test_no_name_crosses_a_tenant_or_a_page() -> None:
    presence, ada = Presence(), list[Window]()
    with presence.window(TENANT, PAGE, "a", "Ada", ada.append):
        assert others(ada) == []
        with (
            presence.window(uuid4(), PAGE, "b", "Bo", lambda _: None),
            presence.window(TENANT, EntryId(uuid4()), "c", "Cy", lambda _: None),
        ):
            assert ada == []


def test_a_window_that_does_not_read_is_called_once_and_learns_at_most_so_many_names() -> None:
    presence, ada = Presence(), list[Window]()
    with ExitStack() as opened:
        opened.enter_context(presence.window(TENANT, PAGE, "a", "Ada", ada.append))
        for number in range(MAX_NAMES + 5):
            opened.enter_context(presence.window(TENANT, PAGE, f"p{number}", f"P{number}", lambda _: None))
        assert len(ada) == 1
        people = ada[0].list_others()
    assert (people["people"], people["more"]) == ([f"P{number}" for number in range(MAX_NAMES)], 5)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("Ada  Lovelace\n", "Ada Lovelace"),
        ("a\u202eb\x00c", "a b c"),
        ("<b>Ada</b>", "<b>Ada</b>"),
        ("\ud800", "?"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("", ""),
    ],
)
def test_a_name_is_one_line_of_valid_text(name: str, line: str) -> None:
    assert shown_name_of(name) == line


@given(st.text(st.characters(codec=None, categories=("Cc", "Cf", "Cs", "L", "N", "Z")), max_size=200))
def test_every_name_is_short_and_can_be_sent(name: str) -> None:
    line = shown_name_of(name)
    assert len(line) <= MAX_NAME_CHARACTERS
    assert shown_name_of(line) == line
    assert orjson.loads(orjson.dumps(line)) == line
