"""Snippets show the sentence with most of the words, as people read it, with the words marked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.markdown.snippets import MAX_SNIPPET_CHARACTERS, Stretch, find_terms, mark_terms, read_text, snippet_of


def shown(stretches: list[Stretch]) -> str:
    return "".join(f"[{text}]" if is_word else text for text, is_word in stretches)


@pytest.mark.parametrize(
    ("markdown", "terms", "snippet"),
    [
        (
            "# Soup\n\nBoil water. Add red lentils and *salt*. Serve.\n",
            ["lentils", "salt"],
            "Add red [lentils] and [salt].",
        ),
        ("Des **crêpes** fines.\n", ["crepes"], "Des [crêpes] fines."),
        ("Des cre\u0302pes.\n", ["crepes"], "Des [cre\u0302pes]."),
        ("Ο Ήλιος λάμπει.\n", ["ηλιος"], "Ο [Ήλιος] λάμπει."),
        ("今日は検索を試した。明日も。\n", ["検索"], "今日は[検索]を試した。"),
        ("Die Straße ist lang.\n", ["strasse"], "Die [Straße] ist lang."),
        ("A tomatoes tomato.\n", ["tomato"], "A [tomato]es [tomato]."),
        ("Not in insides, but inside.\n", ["inside"], "Not in [inside]s, but [inside]."),
        ("Hyphens: red-hot, or red  hot.\n", ["red hot"], "Hyphens: [red-hot], or [red  hot]."),
        ("---\ntitle: hidden words\n---\nText here.\n", ["hidden"], "Text here."),
        ("See [[Kitchen/Dal|the dal]] and [a link](http://x.example/dal).\n", ["dal"], "See the [dal] and a link."),
        ("- [ ] buy `rye` <b>flour</b>\n", ["rye", "flour"], "buy [rye] [flour]"),
        ("| a | b |\n|---|---|\n| one | two |\n", ["two"], "one · [two]"),
        ("It is 0. 5 mm thin. Cut it.\n", ["thin"], "It is 0. 5 mm [thin]."),
        ("Am 3. Mai kam J. Roth, z. B. spät! Er ging.\n", ["mai"], "Am 3. [Mai] kam J. Roth, z. B. spät!"),
        ("It was “late (in May).” He left.\n", ["left"], "He [left]."),
        ("## 0.\n\n### Fixes\n\n- none\n", ["title"], "0.\nFixes\nnone"),
        (f"{'The first sentence. ' * 4}No more.\n", ["title"], ("The first sentence. " * 3).strip()),
        ("", ["x"], ""),
        ("Only this.\n", [], "Only this."),
        ("Only this.\n", ["..."], "Only this."),
    ],
)
def test_a_snippet_is_the_sentence_with_most_of_the_words(markdown: str, terms: list[str], snippet: str) -> None:
    assert shown(snippet_of(markdown, terms)) == snippet


def test_a_long_sentence_is_cut_around_the_first_word() -> None:
    markdown = f"{'before ' * 100}needle {'after ' * 100}\n"
    snippet = shown(snippet_of(markdown, ["needle"]))
    assert snippet.startswith("…before")
    assert "[needle]" in snippet
    assert snippet.endswith("after…")
    assert len(snippet) <= MAX_SNIPPET_CHARACTERS + 4


def test_titles_are_marked_whole() -> None:
    assert mark_terms("Crêpes and crepes", ["crep"]) == [
        ("Crêp", True),
        ("es and ", False),
        ("crep", True),
        ("es", False),
    ]


@given(st.text(max_size=300), st.lists(st.text(max_size=8), max_size=3))
def test_a_snippet_is_part_of_the_text(markdown: str, terms: list[str]) -> None:
    snippet = "".join(text for text, _ in snippet_of(markdown, terms)).strip("…")
    assert snippet in read_text(markdown) or markdown.startswith("---")


@given(st.text(max_size=100), st.lists(st.text(min_size=1, max_size=5), max_size=3))
def test_marked_parts_are_the_text(text: str, terms: list[str]) -> None:
    assert "".join(part for part, _ in mark_terms(text, terms)) == text
    assert all(0 <= start < end <= len(text) for start, end, _ in find_terms(text, terms))
