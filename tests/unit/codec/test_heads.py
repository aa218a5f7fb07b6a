"""The quick reading of front matter says what the thorough one says."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mirrord.markdown.frontmatter import summary_keys
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.frontmatter.summary_keys import Head, head_of

PIECES = st.sampled_from(
    [
        *(
            "title",
            "id",
            "icon",
            "position",
            "tags",
            "aliases",
            "draft",
            "type",
            "created",
            ":",
            ": ",
            "\n",
            "\r\n",
            "- ",
            "  - ",
            " ",
            "  ",
        ),
        *("[", "]", ", ", ",", '"', "'", "#", " # ", "a", "Ünder", "日本", "🌿", "1.10", "2024-01-01", "null", "true"),
        *(
            "\\",
            "{",
            "}",
            "&x",
            "*x",
            "!",
            "|",
            ">",
            "~",
            "?",
            "%",
            "@",
            "`",
            "\t",
            "\u2028",
            "\x85",
            "\xa0",
            "-",
            "---",
        ),
    ]
)
LINES = st.sampled_from(
    [
        *("title: A page", "id: 6f1c", "icon: 🌿", "position: a0", "tags: [a, b c,]", "tags:", "  - one", "- two"),
        *("type: source", "created: 2024-01-01T10:00:00Z", "type: 5", "original: [a]"),
        *("aliases: Other", "draft: true", "see: a: b", "title: null", "# why", "", "tags: 1.10", "tags: [true]"),
        *("title: 'it''s'", 'title: "a"  # b', "url: http://a/b#c", "title: a #b", "id:", 'id: ""', "aliases: []"),
    ]
)


@given(st.one_of(st.lists(PIECES, max_size=14).map("".join), st.lists(LINES, max_size=6).map("\n".join)))
@example("title: a\n- b")
@example("title:\n  a")
@example("tags:\n  - a\n - b")
@example("tags:\n-  a\n\n- b")
@example("tags: a\n\n b")
def test_the_quick_reading_says_what_the_thorough_one_says(source: str) -> None:
    text = f"---\n{source}\n---\nbody"
    quick = head_of(PageText(text))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(summary_keys, "MAX_PLAIN_CHARACTERS", -1)
        thorough = head_of(PageText(text))

    assert quick == thorough


def test_what_a_page_says_of_itself_is_read() -> None:
    text = (
        "---\ntitle: My page # mine\nid: k1\nicon: 🌿\nposition: a0\ntags: [work, '#home']\naliases:\n  - Other\n---\n"
    )

    assert head_of(PageText(text)) == Head("k1", "My page", "🌿", "a0", ("work", "home"), ("Other",))


def test_what_a_source_says_of_itself_is_read_as_it_is_written() -> None:
    text = "---\ntype: source\nsource_type: 'audio'\noriginal: ./assets/a b.mp3\ncreated: 2024-01-01T10:00:00Z\n---\n"
    expected = Head(type="source", source_type="audio", original="./assets/a b.mp3", created="2024-01-01T10:00:00Z")

    assert head_of(PageText(text)) == expected


def test_tags_may_be_one_text_and_numbers() -> None:
    assert head_of(PageText("---\ntags: work, #home 2024\n---\n")).tags == ("work",)
    assert head_of(PageText("---\ntags: work, home\n---\n")).tags == ("work", "home")
    assert head_of(PageText("---\ntags: [2024, x]\n---\n")).tags == ("2024", "x")


def test_broken_front_matter_names_nothing() -> None:
    assert head_of(PageText("---\ntitle: a: b\n---\n")) == Head()
    assert head_of(PageText("---\ntitle: a\n")) == Head()


def test_most_front_matter_is_read_the_quick_way(pages: list[str]) -> None:
    with_head = [text for text in pages if PageText(text).views.frontmatter]
    quick = [text for text in with_head if summary_keys._read_plain_keys(PageText(text).source) is not None]

    assert len(quick) > len(with_head) / 2
