import pytest

from mirrord.markdown.frontmatter.page_properties import Views, read_views
from mirrord.markdown.frontmatter.page_text import PageText


def test_views_are_the_text_as_written() -> None:
    views = PageText("\ufeff---\nid: 0042\ntitle: 1.10\nicon: 🌳\nposition: 10\ndraft: no\n---\n# body\n").views

    assert (views.id, views.title, views.icon, views.position) == ("0042", "1.10", "🌳", "10")
    assert views.frontmatter == {"id": "0042", "title": 1.1, "icon": "🌳", "position": 10, "draft": "no"}
    assert views.error is None


@pytest.mark.parametrize("text", ["", "# a\n", "---\n---\n", "---\n# only a comment\n---\n"])
def test_a_page_without_front_matter_has_empty_views(text: str) -> None:
    assert PageText(text).views == Views(None, None, None, None, {}, {}, None)


def test_front_matter_that_cannot_be_read_is_a_sentence_and_loses_nothing_else() -> None:
    views = PageText("---\nid: a\ntitle: b: c\n---\n# body\n").views

    assert views == Views(
        None, None, None, None, {}, {}, "line 3 of the front matter: mapping values are not allowed in this context"
    )


@pytest.mark.parametrize(
    ("line", "expected"),
    [("id: '0042'", "0042"), ("id:", ""), ("id: [a, b]", "[a, b]"), ("id:\n  - a", "- a"), ("title: x", None)],
)
def test_an_id_is_shown_whatever_it_is(line: str, expected: str | None) -> None:
    assert PageText(f"---\n{line}\n---\n").views.id == expected


def test_a_title_that_is_a_list_or_empty_is_none() -> None:
    assert PageText("---\ntitle: [a]\n---\n").views.title is None
    assert PageText("---\ntitle:\n---\n").views.title is None
    assert PageText("---\ntitle: ~\n---\n").views.title is None
    assert PageText("---\ntitle: ''\n---\n").views.title is None
    assert PageText("---\ntitle: '~'\n---\n").views.title == "~"


def test_the_last_of_two_equal_keys_counts() -> None:
    views = PageText("---\ntitle: a\ntitle: b\n---\n").views

    assert (views.title, views.frontmatter) == ("b", {"title": "b"})


def test_what_a_caller_does_to_views_changes_none_that_are_read_later() -> None:
    source = "title: Plan\ntags: [one, two]\nnested: {inner: [1]}\n"
    first = read_views(source)
    first.texts["title"] = "Other"
    for value in (first.frontmatter["tags"], first.frontmatter["nested"]["inner"]):  # type: ignore[index, call-overload]
        value.append("three")  # type: ignore[union-attr]
    del first.frontmatter["title"]

    second = read_views(source)

    assert second.texts["title"] == second.title == "Plan"
    assert second.frontmatter == {"title": "Plan", "tags": ["one", "two"], "nested": {"inner": [1]}}
