"""Bodies of HTML, as rich text editors of a CMS store them: pages in both modes, and no edit removes what they hide."""

import pytest

from tests.binding.knowledge_base import BoundWorld
from tests.support.entries import value
from tests.support.harness import eventually

TABLE = "CREATE TABLE kb.articles (id serial PRIMARY KEY, title text NOT NULL, body text, revision integer DEFAULT 1)"
MAPPING = """
[binding]
name = "kb"
mode = "both"
[page]
table = "kb.articles"
id = "id"
title = "title"
version = "revision"
create = {}
[body]
column = "body"
format = "html"
nodes = ["image"]
"""
BODY = (
    '<div class="lead">\n<h2 id="top">Beans</h2>\n<p>Green &amp; <b>tasty</b>.</p>\n'
    '<p>In <span style="color: red">red</span>.</p>\n</div>\n<script>count()</script>'
)


@pytest.fixture
def articles(world: BoundWorld) -> BoundWorld:
    """A world with a table of HTML; no binding."""
    world.app.connection.execute(TABLE.encode())
    world.mapping.write_text(MAPPING)
    return world


def add_article(world: BoundWorld, title: str, body: str | None) -> None:
    world.app.connection.execute("INSERT INTO kb.articles (title, body) VALUES (%s, %s)", [title, body])


def start(world: BoundWorld) -> None:
    world.bind("add", str(world.mapping))
    world.mirrord.up()


def body_of(world: BoundWorld, title: str) -> str | None:
    return value(world.admin, "SELECT body FROM kb.articles WHERE title = %s", title)  # type: ignore[no-any-return]


def await_body(world: BoundWorld, title: str, body: str) -> None:
    eventually(lambda: body_of(world, title) == body, f"the app has {body!r}, not {body_of(world, title)!r}")


def test_html_is_markdown_in_the_file_and_an_edit_changes_its_block_only(articles: BoundWorld) -> None:
    add_article(articles, "Beans", BODY)
    start(articles)
    text = articles.await_text("Beans.md", "## Beans\n\nGreen & **tasty**.\n\nIn red.\n")
    assert "count()" not in text
    articles.mirrord.file("Beans.md").write_text(text.replace("Green", "Broad, [see](https://beans.example),"))
    await_body(
        articles,
        "Beans",
        BODY.replace(
            "Green &amp; <b>tasty</b>",
            'Broad, <a href="https://beans.example">see</a>, &amp; <strong>tasty</strong>',
        ),
    )
    articles.await_rest()
    assert articles.status()["problems"] == []
    assert value(articles.admin, "SELECT revision FROM kb.articles") == 2


def test_an_edit_of_what_markdown_does_not_hold_is_refused_and_both_texts_stay(articles: BoundWorld) -> None:
    add_article(articles, "Beans", BODY)
    start(articles)
    text = articles.await_text("Beans.md", "In red.")
    edited = text.replace("In red.", "In blue.")
    articles.mirrord.file("Beans.md").write_text(edited)
    (problem,) = eventually(lambda: articles.status()["problems"], "the edit is a problem")
    assert "a changed part of it has `<span>`, which Markdown does not hold" in problem["sentence"]
    assert body_of(articles, "Beans") == BODY
    assert articles.mirrord.text("Beans.md") == edited
    articles.mirrord.file("Beans.md").write_text(text.replace("Green", "Broad"))
    await_body(articles, "Beans", BODY.replace("Green &amp; <b>tasty</b>", "Broad &amp; <strong>tasty</strong>"))
    eventually(lambda: not articles.status()["problems"], "the problem is over")


def test_edits_of_both_sides_are_in_the_file_and_in_the_html(articles: BoundWorld) -> None:
    add_article(articles, "Plan", "<p>First.</p>\n<p>Second.</p>\n<p>Third.</p>")
    start(articles)
    text = articles.await_text("Plan.md", "Third.")
    articles.await_rest()
    articles.bind("pause", "kb")
    articles.mirrord.file("Plan.md").write_text(text.replace("Third.", "Third, *by hand*."))
    articles.mirrord.flush()
    articles.app.connection.execute(
        "UPDATE kb.articles SET body = replace(body, 'First.', 'First, <u>in the app</u>.')"
    )
    articles.bind("resume", "kb")
    await_body(
        articles,
        "Plan",
        "<p>First, <u>in the app</u>.</p>\n<p>Second.</p>\n<p>Third, <em>by hand</em>.</p>",
    )
    articles.await_text("Plan.md", "First, <u>in the app</u>.", "Third, *by hand*.")
    assert articles.conflicts() == []


def test_a_new_file_is_html_in_a_new_row_and_no_script_reaches_the_app(articles: BoundWorld) -> None:
    start(articles)
    articles.mirrord.file("New.md").write_text("# Head\n\n- one\n- **two**\n\n![a](https://x.example/a.png)\n")
    await_body(
        articles,
        "New",
        "<h1>Head</h1><ul><li>one</li><li><strong>two</strong></li></ul>"
        '<p><img src="https://x.example/a.png" alt="a"></p>',
    )
    articles.mirrord.file("Bad.md").write_text("<script>steal()</script>\n")
    problem = "SELECT sentence FROM mirrord.problem WHERE code = 'bound-new'"
    sentence = eventually(lambda: (articles.admin.execute(problem).fetchone() or [None])[0], "a problem is listed")
    assert "`rawBlock`" in sentence
    assert value(articles.admin, "SELECT count(*) FROM kb.articles") == 1
    assert articles.mirrord.text("Bad.md") == "<script>steal()</script>\n"


def test_html_whose_tags_do_not_fit_is_read_and_refused_where_it_is_edited(articles: BoundWorld) -> None:
    broken = "<p>One<p>Two</b> <i>three"
    add_article(articles, "Broken", broken)
    add_article(articles, "Empty", None)
    add_article(articles, "Deep", "<b>" * 5_000)
    start(articles)
    text = articles.await_text("Broken.md", "One\n\nTwo *three*\n")
    articles.await_text("Empty.md", "title: Empty")
    articles.mirrord.file("Broken.md").write_text(text.replace("One", "1"))
    problems = eventually(
        lambda: problems if len(problems := articles.status()["problems"]) == 2 else None, "both are problems"
    )
    sentences = " ".join(sorted(problem["sentence"] for problem in problems))
    assert "tags that do not fit" in sentences
    assert "nested too deep" in sentences
    assert body_of(articles, "Broken") == broken
    articles.mirrord.file("Empty.md").write_text((articles.mirrord.text("Empty.md") or "") + "Words.\n")
    await_body(articles, "Empty", "<p>Words.</p>")


def test_mode_in_reads_html_and_the_check_tells_what_is_carried_over(articles: BoundWorld) -> None:
    articles.mapping.write_text(
        MAPPING.replace('mode = "both"\n', "")
        .replace('version = "revision"\ncreate = {}\n', "")
        .replace('nodes = ["image"]\n', "")
    )
    add_article(articles, "Beans", BODY)
    assert "1 row would be a page" in articles.bind("check", str(articles.mapping))
    start(articles)
    articles.await_text("Beans.md", "Green & **tasty**.")
    articles.app.connection.execute("UPDATE kb.articles SET body = '<ul><li>x</li></ul>'")
    articles.await_text("Beans.md", "- x")
