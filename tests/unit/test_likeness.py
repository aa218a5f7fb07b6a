"""What a new file is made of, where only its text can tell."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.domain.entry import EntryId
from mirrord.sync.observation.identity_evidence import is_unlike, match_texts

A, B = (EntryId(UUID(int=number)) for number in (1, 2))
PLAN = "# The plan\n\nWe sow in spring.\n\nWe harvest in autumn.\n"
LOG = "# The log\n\nRain all day.\n\nA fox at the fence.\n"
TEMPLATE = "## What I did today\n\n## What I do tomorrow\n"


def test_a_file_with_a_line_more_is_made_of_the_page() -> None:
    assert match_texts({A: PLAN}, {"New.md": PLAN + "\nAnd rest in winter.\n"}) == {"New.md": A}


def test_a_file_that_keeps_less_than_half_of_a_page_is_another_one() -> None:
    assert match_texts({A: PLAN}, {"New.md": "# The plan\n\nSomething else entirely.\n"}) == {}


def test_pages_and_files_find_each_other_by_what_only_they_say() -> None:
    files = {"x.md": LOG + "More rain.\n", "y.md": f"Preface.\n{PLAN}"}
    assert match_texts({A: PLAN, B: LOG}, files) == {"x.md": B, "y.md": A}


def test_what_comes_from_a_template_tells_nothing() -> None:
    lost = {A: TEMPLATE + "Dug.\n", B: TEMPLATE + "Swept.\n"}
    assert match_texts(lost, {"x.md": TEMPLATE + "Read.\n", "y.md": TEMPLATE + "Slept.\n"}) == {}


def test_of_two_files_with_the_same_text_none_is_chosen() -> None:
    assert match_texts({A: PLAN}, {"x.md": PLAN + "x\n", "y.md": PLAN + "y\n"}) == {}


def test_a_file_made_of_two_pages_is_the_one_it_has_most_of() -> None:
    assert match_texts({A: PLAN, B: LOG}, {"Both.md": PLAN + LOG}) == {"Both.md": A}


@pytest.mark.parametrize("text", ["", "\n", "# A\n", "yes\n"])
def test_few_words_in_common_are_chance(text: str) -> None:
    assert match_texts({A: text}, {"x.md": text}) == {}


texts = st.lists(st.sampled_from(["one line of text", "another line of it", "a third of them", ""])).map("\n".join)


@given(st.dictionaries(st.sampled_from([A, B]), texts), st.dictionaries(st.sampled_from("xyz"), texts))
def test_no_page_is_two_files(lost: dict[EntryId, str], files: dict[str, str]) -> None:
    matches = match_texts(lost, files)
    assert len(set(matches.values())) == len(matches)
    assert matches.keys() <= files.keys()


@pytest.mark.parametrize(
    ("new", "unlike"),
    [("Another text.\n", True), ("", True), (PLAN, False), (f"{PLAN}More.\n", False), ("# The plan\n", True)],
)
def test_a_text_is_unlike_another_if_most_of_that_is_gone(new: str, unlike: bool) -> None:
    assert is_unlike(PLAN, new) is unlike


def test_nothing_is_unlike_a_text_that_says_next_to_nothing() -> None:
    assert not is_unlike("# A\n", "Another text.\n")
