"""Names: what mirrord makes of any title fits every system, and equal names have equal keys."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mirrord.domain.place import (
    MAX_NAME_BYTES,
    clean_name,
    find_portability_fault,
    is_reserved,
    name_key,
    numbered_name,
)

ANYTHING = st.text(st.characters(codec=None), max_size=80)  # also lone surrogates, as odd bytes in a file name show
LONG = st.text(min_size=150, max_size=400)
DANGEROUS = st.text("CONaux1. -_/\\:*?\x00\n\u00a0\u0301é漢\u202e\u2066", max_size=12)
TITLES = ANYTHING | LONG | DANGEROUS | st.sampled_from(["con", "COM1.txt", "assets", "_Index", "LPT¹", "nul.a.b"])


@given(TITLES)
@example("con." + "a" * 300)
@example("\ud800")
@example("/etc/passwd")
@example("--option")
@example(". -. x")
def test_a_made_name_fits_every_system(title: str) -> None:
    name = clean_name(title, "1a2b")
    assert find_portability_fault(name) is None
    assert not is_reserved(name)
    assert len(name.encode()) <= MAX_NAME_BYTES
    assert unicodedata.is_normalized("NFC", name)


@given(TITLES)
@example("con.txt")
def test_a_made_name_is_made_once(title: str) -> None:
    name = clean_name(title, "1a2b")
    assert clean_name(name, "other") == name


@given(TITLES, st.integers(2, 10**6))
def test_a_numbered_name_fits_too(title: str, number: int) -> None:
    name = numbered_name(clean_name(title, "1a2b"), number)
    assert name.endswith(f" ({number})")
    assert find_portability_fault(name) is None
    assert len(name.encode()) <= MAX_NAME_BYTES


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Meeting: Q3/Q4 <draft>", "Meeting- Q3-Q4 -draft-"),
        ("  two   blanks.. ", "two blanks"),
        ("a\tb\nc", "a-b-c"),
        ("Cafe\u0301", "Café"),
        ("日本語 🗾", "日本語 🗾"),
        ("...", "Untitled-1a2b"),
        ("", "Untitled-1a2b"),
        ("AUX", "AUX_"),
        ("aux.notes", "aux_.notes"),
        ("Assets", "Assets_"),
        ("_index", "_index_"),
        (".hidden", "hidden"),
        ("photo\u202egnp.exe", "photognp.exe"),
        ("\u2067\u2069", "Untitled-1a2b"),
        ("e\u202e\u0301", "é"),
    ],
)
def test_a_title_becomes_the_name_a_person_would_choose(title: str, name: str) -> None:
    assert clean_name(title, "1a2b") == name


def test_two_long_titles_with_one_beginning_get_different_names() -> None:
    first, other = clean_name("a" * 300 + "1", "x"), clean_name("a" * 300 + "2", "x")
    assert first != other
    assert first[:150] == other[:150]


@given(st.text(max_size=40))
def test_composed_and_decomposed_names_have_one_key(name: str) -> None:
    assert name_key(unicodedata.normalize("NFC", name)) == name_key(unicodedata.normalize("NFD", name))


@given(st.text("aZéÉσΣжЖ ßΑ", max_size=20))
def test_names_that_differ_in_case_have_one_key(name: str) -> None:
    # lower() and upper() of ß and final σ are no simple foldings, so the case of single letters is changed
    swapped = "".join(letter.swapcase() if len(letter.swapcase()) == 1 else letter for letter in name)
    assert name_key(name) == name_key(swapped)


@pytest.mark.parametrize("name", [".git", ".", "assets", "ASSETS", "a\u017f\u017fets", "_index", "_INDEX"])
def test_the_tree_keeps_names_for_itself(name: str) -> None:
    assert is_reserved(name)


@pytest.mark.parametrize("name", ["index", "assets2", "Assets of mine", "a.b", "_indexes"])
def test_other_names_are_free(name: str) -> None:
    assert not is_reserved(name)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("two\nlines", "line break"),
        ("a:b", "Windows refuses"),
        ("end.", "Windows drops"),
        (" begin", "Windows drops"),
        ("CON", "device"),
        ("nul.txt", "device"),
        ("-rf", "option"),
        ("photo\u202egnp", "reads as another name"),
        ("\u2067a\u2069", "reads as another name"),
        ("x" * 241, "long"),
    ],
)
def test_a_persons_name_that_some_system_could_not_hold_is_explained(name: str, reason: str) -> None:
    assert reason in (find_portability_fault(name) or "")


@pytest.mark.parametrize(
    "name", ["Plan", "Über uns (2)", "console", "v1.2", "日本語", "مرحبا", "a\u200fb", "bad byte \udcff"]
)
def test_a_name_that_every_system_holds_needs_no_explanation(name: str) -> None:
    assert find_portability_fault(name) is None
