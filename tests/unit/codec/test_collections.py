"""Categories and collections as YAML."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mirrord.errors import Damaged
from mirrord.research.collections.collection_rules import (
    CATEGORIES,
    COLLECTIONS,
    PageGroup,
    fault_in,
    find_control_character,
    find_quote,
    is_valid_name,
)
from mirrord.research.collections.collection_yaml import group_text, read_group
from tests.support.laws import scale_examples

BOOKS = """# What I read
dir: Books  # since school
patterns:
  # the best
  - novels/**
  - 'essays/**'
mine: {a: 1}
description: long ones
"""


def test_what_a_file_says_is_read() -> None:
    assert read_group(CATEGORIES, "books", BOOKS) == PageGroup(
        "books", ("novels/**", "essays/**"), "Books", "long ones"
    )
    assert read_group(COLLECTIONS, "x", "categories: [one, 2024, two]\n").members == ("one", "2024", "two")
    assert read_group(COLLECTIONS, "x", "categories: alone\n").members == ("alone",)
    assert read_group(CATEGORIES, "x", "") == PageGroup("x")
    assert read_group(CATEGORIES, "x", "dir: /Books/novels/\n").directory == "Books/novels"
    assert read_group(CATEGORIES, "x", "dir: .\n").directory == ""


def test_only_what_changes_is_written() -> None:
    books = read_group(CATEGORIES, "books", BOOKS)
    changed = group_text(CATEGORIES, BOOKS, PageGroup("books", ("novels/**", "essays/**", "x"), "Books"))
    extended = BOOKS.replace("  - 'essays/**'\n", "  - 'essays/**'\n  - x\n")
    assert changed == extended.replace("description: long ones\n", "")
    assert group_text(CATEGORIES, BOOKS, books) == BOOKS
    odd = "categories: [2024, a]\n# end\n"
    assert group_text(COLLECTIONS, odd, read_group(COLLECTIONS, "x", odd)) == odd


@pytest.mark.parametrize(
    ("text", "line", "key"),
    [
        ("dir: Books\npatterns: 5.5\n", 2, "patterns"),
        ("# one\n\ncategories:\n  - yes\n  - true\n", 3, "categories"),
        ("dir: [a]\n", 1, "dir"),
        ("dir: a\npatterns:\n  - ok\n  - ../b\n", 2, "patterns"),
        ("patterns: ['']\n", 1, "patterns"),
        ("dir: a\ndescription: {a: 1}\n", 2, "description"),
        ("patterns: [[a], b]\n", 1, "patterns"),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused_with_its_line(text: str, line: int, key: str) -> None:
    kind = COLLECTIONS if key == "categories" else CATEGORIES
    with pytest.raises(Damaged, match=re.escape(f"line {line}: `{key}`")):
        read_group(kind, "x", text)


@pytest.mark.parametrize(
    "text", ["dir: a\npatterns: [\n", "dir: *x\n", "- a\n", "dir: a\n<<: b\n", "\tdir: a\n", "dir: a\n---\ndir: b\n"]
)
def test_a_broken_file_is_refused_with_a_line_and_never_written(text: str) -> None:
    with pytest.raises(Damaged, match=r"line \d"):
        read_group(CATEGORIES, "x", text)
    with pytest.raises(Damaged, match=r"line \d"):
        group_text(CATEGORIES, text, PageGroup("x", directory="b"))


_WORDS = st.text(max_size=20).filter(lambda text: find_quote(text) is None and find_control_character(text) is None)
_NAMES = st.text("abZ09_-", min_size=1, max_size=6).filter(is_valid_name)


@settings(max_examples=scale_examples(40))
@example("x", [], "\xa0", [])  # a blank that is none to YAML
@example("x", [], "\u3000a ", [])
@given(_NAMES, st.lists(_NAMES, max_size=5), _WORDS, st.lists(_NAMES, max_size=5))
def test_what_is_written_is_read_back(name: str, categories: list[str], description: str, others: list[str]) -> None:
    group = PageGroup(name, tuple(categories), "", description or None, "2026-01-02T03:04:05.678901+00:00")
    other = PageGroup(name, tuple(others), created=group.created)
    text = group_text(COLLECTIONS, None, group)
    assert read_group(COLLECTIONS, name, text) == group
    again = group_text(COLLECTIONS, text, other)
    assert read_group(COLLECTIONS, name, again) == other
    assert read_group(COLLECTIONS, name, group_text(COLLECTIONS, again, group)) == group


@settings(max_examples=scale_examples(40))
@given(_WORDS, st.lists(_WORDS.filter(lambda text: fault_in(text) is None), max_size=4))
def test_directories_and_patterns_are_read_back(directory: str, patterns: list[str]) -> None:
    plain = directory.strip("/").removeprefix("./") if directory != "." else ""
    group = PageGroup("x", tuple(patterns), plain.strip("/"))
    assert read_group(CATEGORIES, "x", group_text(CATEGORIES, None, group)).members == group.members
