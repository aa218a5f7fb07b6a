"""What a person chose of a change set stays chosen when others change the pages, or is named as what does not fit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.domain.review import UNFITTING, ChangePreview, ReviewChoice, clashes_of
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.page_links import Link, links_of
from mirrord.merge import linked_parts
from mirrord.merge.carried_choice import carry_choice
from mirrord.merge.linked_parts import find_separated

PATHS = ("A.md", "B.md", "C.md")
OLD = "# A\n\nfirst\n\nsecond\n\nthird\n"
MINE = OLD.replace("first", "mine")

texts = st.sampled_from([OLD, MINE, OLD.replace("second", "2nd"), OLD.replace("first", "theirs"), "# A\n"])
changes = st.lists(
    st.builds(ChangePreview, st.sampled_from(PATHS), st.just("edited"), st.none(), texts, texts),
    unique_by=lambda change: change.path,
)
choices = st.builds(
    ReviewChoice,
    st.frozensets(st.sampled_from(PATHS)),
    st.just({}),
    st.dictionaries(st.sampled_from(PATHS), texts),
)


def edited(old: str, new: str = MINE, path: str = "A.md") -> ChangePreview:
    return ChangePreview(path, "edited", path, old, new)


@pytest.mark.parametrize(
    ("now", "merged"),
    [
        (OLD, MINE),
        (OLD.replace("second", "2nd"), MINE.replace("second", "2nd")),
        (MINE, MINE),
        (OLD.replace("first", "theirs"), None),
    ],
)
def test_a_text_is_merged_with_what_others_changed_or_does_not_fit(now: str, merged: str | None) -> None:
    choice = carry_choice(ReviewChoice(texts={"A.md": MINE}), [edited(OLD)], [edited(now)])
    assert choice.texts == ({} if merged is None else {"A.md": merged})
    assert choice.unfitting == ({"A.md": MINE} if merged is None else {})
    assert clashes_of([edited(now)], choice) == ({"A.md": UNFITTING} if merged is None else {})


def test_a_text_that_does_not_fit_stays_until_the_person_writes_another() -> None:
    choice = carry_choice(ReviewChoice(unfitting={"A.md": MINE}), [edited(OLD)], [edited(OLD)])
    assert (choice.texts, choice.unfitting) == ({}, {"A.md": MINE})


@given(choices, changes, changes)
def test_no_text_is_lost_and_no_page_is_accepted_that_was_rejected(
    choice: ReviewChoice, before: list[ChangePreview], now: list[ChangePreview]
) -> None:
    carried = carry_choice(choice, before, now)
    paths = {change.path for change in now}
    assert carried.rejected == choice.rejected & paths
    assert carried.texts.keys() | carried.unfitting.keys() == choice.texts.keys() & paths
    assert not carried.texts.keys() & carried.unfitting.keys()


@given(choices, changes)
def test_what_is_as_it_was_is_carried_over_as_it_is(choice: ReviewChoice, before: list[ChangePreview]) -> None:
    paths = {change.path for change in before}
    carried = carry_choice(choice, before, before)
    assert carried.texts == {path: text for path, text in choice.texts.items() if path in paths}


LINKING = ChangePreview(
    "L.md",
    "edited",
    "L.md",
    "[b](B.md)\n\nx\n",
    "[b](C.md)\n\ny\n",
    followed={"C.md": {"new": ["C.md"], "old": ["B.md"]}},
)
MOVED = ChangePreview("C.md", "moved", "B.md", "text\n", "text\n")


@pytest.mark.parametrize(
    ("choice", "is_separated"),
    [
        (ReviewChoice(), False),
        (ReviewChoice(frozenset({"L.md", "C.md"})), False),
        (ReviewChoice(frozenset({"C.md"})), True),
        (ReviewChoice(frozenset({"L.md"})), True),
        (ReviewChoice(blocks={"L.md": frozenset({1})}), False),
        (ReviewChoice(blocks={"L.md": frozenset({2})}), True),
        (ReviewChoice(frozenset({"C.md"}), {"L.md": frozenset({2})}), False),
        (ReviewChoice(frozenset({"C.md"}), {"L.md": frozenset({1})}), True),
        (ReviewChoice(frozenset({"C.md"}), texts={"L.md": "[b](C.md)\n"}), False),
    ],
)
def test_a_move_and_the_links_that_follow_it_are_accepted_together(choice: ReviewChoice, is_separated: bool) -> None:
    assert bool(find_separated([LINKING, MOVED], choice)) is is_separated


def test_the_text_of_an_index_is_parsed_once_for_all_moves_that_its_links_follow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parsed_texts: list[str] = []

    def count_links(text: PageText) -> list[Link]:
        parsed_texts.append(text.text)
        return list(links_of(text))

    monkeypatch.setattr(linked_parts, "links_of", count_links)
    paths = [f"New/{number}.md" for number in range(50)]
    text = "".join(f"[{number}](New/{number}.md)\n" for number in range(50))
    followed = {path: {"new": [path], "old": [path.replace("New", "Old")]} for path in paths}
    index = ChangePreview("Index.md", "edited", "Index.md", text.replace("New", "Old"), text, followed=followed)
    moves = [ChangePreview(path, "moved", path.replace("New", "Old"), "x\n", "x\n") for path in paths]

    separated = find_separated([index, *moves], ReviewChoice(frozenset(paths[:2])))
    assert separated == [("Index.md", path) for path in paths[:2]]
    assert parsed_texts == [text]
