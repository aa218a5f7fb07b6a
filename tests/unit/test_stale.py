"""Which save was made from a text that was not in the file any more."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.merge.edit_merge import merge
from mirrord.sync.decisions.stale_buffers import merge_base

OLD = "# Plan\n\nBuy bread and milk.\n\nCall the plumber.\n\nWater the plants.\n"
NEW = OLD.replace("Call the plumber.", "Call the plumber at nine.")


def test_an_older_text_with_an_edit_of_its_own_was_made_from_that_text() -> None:
    saved = OLD.replace("bread", "rye bread")
    assert merge_base([OLD], NEW, saved) == OLD
    assert merge(OLD, saved, NEW) == NEW.replace("bread", "rye bread")


@pytest.mark.parametrize(
    ("current", "saved"),
    [
        (NEW, OLD.replace("Call the", "Ring the")),
        (OLD + "\nA last line.\n", OLD.replace("Water the", "Water all")),
        (OLD.replace("\nCall the plumber.\n", ""), OLD.replace("bread", "rye bread")),
        ("---\ntitle: Plan\n---\n" + OLD, OLD.replace("bread", "rye bread")),
        (NEW, OLD.replace("bread", "rye bread").replace("\n", "\r\n")),
    ],
    ids=["another word of the same line", "added at the end", "a paragraph taken out", "front matter", "other endings"],
)
def test_what_the_row_brought_may_be_anything(current: str, saved: str) -> None:
    assert merge_base([OLD], current, saved) == OLD


@pytest.mark.parametrize(
    ("current", "saved"),
    [
        (NEW, OLD),
        (NEW, NEW),
        (NEW, NEW.replace("bread", "rye bread")),
        (NEW, NEW.replace("at nine", "at ten")),
        (NEW.replace("milk", "oat milk"), NEW.replace("bread", "rye bread")),
        (NEW.replace("milk", "oat milk"), OLD.replace("milk", "oat milk").replace("plants", "garden")),
        (OLD + "\nA last line.\n", "A last line.\n\n" + OLD),
        (OLD + "\nA last line.\n", OLD + "\nMy own last line.\n"),
        (NEW, ""),
    ],
    ids=[
        "the older text itself is a wanted undo",
        "nothing changed",
        "an ordinary edit",
        "an edit of what was brought",
        "one of two changes kept",
        "the other of two changes kept",
        "what was brought is in another place now",
        "what was brought is rewritten",
        "everything is gone",
    ],
)
def test_an_edit_of_the_current_text_is_an_ordinary_edit(current: str, saved: str) -> None:
    assert merge_base([OLD], current, saved) is None


def test_of_several_older_texts_the_one_that_was_loaded_is_found() -> None:
    newest = NEW.replace("plants", "tomatoes")
    edited = "bread", "rye bread"
    assert merge_base([OLD, NEW], newest, OLD.replace(*edited)) == OLD
    assert merge_base([OLD, NEW], newest, NEW.replace(*edited)) == NEW
    assert merge_base([OLD, NEW], newest, newest.replace(*edited)) is None
    assert merge_base([OLD, NEW], newest, OLD) is None
    assert merge_base([OLD, NEW], newest, NEW) is None


def text(words: list[str]) -> str:
    return "\n\n".join(words) + "\n"


@st.composite
def edits(draw: st.DrawFn) -> tuple[list[str], list[str], list[str]]:
    """A page's paragraphs, and two sets of changes that touch different paragraphs, as lists of paragraphs."""
    old = [f"paragraph {number}" for number in range(draw(st.integers(2, 8)))]
    authors = draw(st.lists(st.sampled_from(["row", "editor", ""]), min_size=len(old), max_size=len(old)))
    row = [f"{line} by the row" if author == "row" else line for line, author in zip(old, authors, strict=True)]
    editor = [
        f"{line} by the editor" if author == "editor" else line for line, author in zip(old, authors, strict=True)
    ]
    return old, row, editor


@given(edits())
def test_a_save_of_an_older_text_is_merged_so_that_nobody_s_edit_is_lost(
    texts: tuple[list[str], list[str], list[str]],
) -> None:
    old, row, editor = texts
    if old in (row, editor):
        assert merge_base([text(old)], text(row), text(editor)) is None
        return
    base = merge_base([text(old)], text(row), text(editor))
    assert base == text(old)
    merged = merge(base, text(editor), text(row))
    assert merged is not None
    both = [mine if mine != was else theirs for was, theirs, mine in zip(old, row, editor, strict=True)]
    assert merged == text(both)


@given(edits(), st.data())
def test_a_save_that_keeps_any_of_what_was_brought_is_ordinary(
    texts: tuple[list[str], list[str], list[str]], data: st.DataObject
) -> None:
    old, row, editor = texts
    brought = [number for number, (was, now) in enumerate(zip(old, row, strict=True)) if was != now]
    if not brought:
        return
    kept_numbers = data.draw(st.sets(st.sampled_from(brought), min_size=1))
    saved = [row[number] if number in kept_numbers else line for number, line in enumerate(editor)]
    assert merge_base([text(old)], text(row), text(saved)) is None


pages = st.lists(st.sampled_from(["one", "two three", "", "- four", "one two"]), max_size=6).map("\n".join)


@given(st.lists(pages, max_size=3), pages, pages)
def test_whatever_is_found_is_one_of_the_older_texts_and_never_a_wanted_undo(
    previous: list[str], current: str, saved: str
) -> None:
    base = merge_base(previous, current, saved)
    assert base is None or (base in previous and base != current and saved not in (current, *previous))
