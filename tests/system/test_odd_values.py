"""Values that Postgres, JSON or mirrord itself cannot hold: nothing is lost, a problem says where, the rest goes on."""

from collections.abc import Iterator
from uuid import UUID, uuid4

import pytest

from mirrord.markdown.read.reader import NODE_FENCE_INFO
from tests.support.commands import Near
from tests.support.editors import save
from tests.support.entries import add_page, delete, row_of, value
from tests.support.harness import Mirrord, eventually
from tests.support.health import assert_over, assert_said, look_everywhere, problem

DEEP = 3000
LARGE = "1" * 30  # more than 64 bits


def deep(brackets: str, depth: int = DEEP) -> str:
    return brackets[0] * depth + brackets[1] * depth


def save_all(mirrord: Mirrord, texts: dict[str, str]) -> None:
    """Save files, one after the other."""
    for path, text in texts.items():
        save(mirrord.file(path), text)


@pytest.fixture(scope="module")
def daemon(admin_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mirrord]:
    """One daemon for all tests of this module."""
    with Near(tmp_path_factory.mktemp("odd"), tenant="odd-values", dsn=admin_dsn) as started:
        started.up()
        yield started


@pytest.fixture
def mirrord(daemon: Mirrord) -> Iterator[Mirrord]:
    """The daemon: after the test it goes on syncing, and no page lacks its document."""
    yield daemon
    text = f"a text {uuid4()}\n"
    save(daemon.file("Last.md"), text)
    without = "SELECT count(*) FROM mirrord.page WHERE content IS NULL AND kind = 'page' AND deleted_at IS NULL"
    synced = "SELECT count(*) FROM mirrord.page WHERE markdown = %s"
    eventually(lambda: value(daemon.app, synced, text) == 1 and value(daemon.app, without) == 0, "all documents")


def test_pages_whose_front_matter_no_row_can_hold_are_synced_as_they_are(mirrord: Mirrord) -> None:
    sources = [
        'a: "\\0"',
        '"a\\0": 1',
        'a: [b, {c: "\\x00"}]',
        'title: "\\u0000"',
        'id: "\\0"',
        'a: "\\ud800"',
        'a: "\\ud83d\\ude00"',
        "a: " + "[" * DEEP,
        "a: " + "[" * 80 + "]" * 80,
    ]
    texts = {f"Odd {n}.md": f"---\n{source}\nb: 1\n---\nBody {n}.\n" for n, source in enumerate(sources)}
    save_all(mirrord, texts)
    look_everywhere(mirrord)
    for path, text in texts.items():
        assert_said(mirrord, path, path, "line 2 of the front matter")
        page = mirrord.page(path)
        assert page is not None
        assert page.markdown == text == mirrord.text(path)
    save_all(mirrord, dict.fromkeys(texts, "---\nb: 2\n---\nBody.\n"))
    for path in texts:
        assert_over(mirrord, path)


def test_what_is_no_number_of_json_is_text(mirrord: Mirrord) -> None:
    numbers = [".inf", ".nan", "1e400", "-1e400", "9" * 400]
    source = "".join(f"{key}: {number}\n" for key, number in zip("abcde", numbers, strict=True))
    save(mirrord.file("Numbers.md"), f"---\n{source}---\nThe body.\n")
    page = eventually(lambda: mirrord.page("Numbers.md"), "a row of Numbers.md")
    assert row_of(mirrord.app, page.id)["frontmatter"] == dict(zip("abcde", numbers, strict=True))
    assert problem(mirrord, "Numbers.md") is None


def test_bodies_with_odd_values_get_their_documents_and_stay_as_they_are(mirrord: Mirrord) -> None:
    node = f'{{"type":"x","attrs":{{"a":{deep("[]", 400)}}}}}'
    bodies = [
        "[a](b%00c)",
        "[a]: b%00c.md#d%00",
        f'<!-- tiptap {{"a":{deep("[]", 400)}}} -->\n# A',
        f'<!-- tiptap {{"a":{deep("[]", 1020)}}} -->\n# A',
        f"<span data-tt='{node}'></span>".replace('"', "&quot;").replace("'", '"'),
        f"```{NODE_FENCE_INFO}\n{node}\n```",
        f'```{NODE_FENCE_INFO}\n{{"type":"x","attrs":{{"a":{LARGE}, "b": "\\u0000"}}}}\n```',
    ]
    texts = {f"Body {n}.md": body + "\n" for n, body in enumerate(bodies)}
    save_all(mirrord, texts)
    for path, text in texts.items():
        page = eventually(lambda path=path: mirrord.page(path), f"a row of {path}")  # type: ignore[misc]
        eventually(lambda page=page: row_of(mirrord.app, page.id)["content"], "its document")  # type: ignore[misc]
        assert page.markdown == text == mirrord.text(path)


def test_records_that_no_row_can_hold_are_kept_as_text(mirrord: Mirrord) -> None:
    yaml = ['dir: "\\0"\n', 'dir: "\\ud800"\n', "dir: " + "[" * DEEP]
    values = ['"\\u0000"', '"\\ud800"', "1e400", "NaN", LARGE, "9" * 5000, deep("[]")]
    texts = {f".records/categories/odd-{n}.yaml": text for n, text in enumerate(yaml)}
    texts |= {f".records/segments/{uuid4()}.json": f'{{"a": {literal}}}' for literal in values}
    save_all(mirrord, texts)
    look_everywhere(mirrord)
    for path, text in texts.items():
        assert_said(mirrord, path, path)
        key = path.rpartition("/")[2].partition(".")[0]
        row = mirrord.app.execute("SELECT text, data FROM mirrord.record WHERE key = %s", [key]).fetchone()
        assert row == (text, None)
        assert mirrord.text(path) == text


@pytest.mark.parametrize(
    ("column", "json"),
    [
        ("frontmatter", '{"a": 1e400}'),
        ("frontmatter", f'{{"a": {deep("[]")}}}'),
        ("content", '{"type": "doc", "content": [{"type": "x", "attrs": {"a": 1e400}}]}'),
        ("content", f'{{"type": "doc", "content": [{{"type": "x", "attrs": {{"a": {deep("[]", 500)}}}}}]}}'),
    ],
    ids=["number", "deep", "document-number", "deep-document"],
)
def test_a_view_that_no_file_can_hold_waits_for_its_author(mirrord: Mirrord, column: str, json: str) -> None:
    path = f"View {uuid4().hex[:8]}.md"
    save(mirrord.file(path), "The body.\n")
    page = eventually(lambda: mirrord.page(path), f"a row of {path}")
    assert _change(mirrord, page.id, column, json) == 1
    look_everywhere(mirrord)
    assert_said(mirrord, path)
    codes = mirrord.app.execute("SELECT code FROM mirrord.problem WHERE path = %s", [path]).fetchall()
    assert codes == [("render",)]
    assert mirrord.text(path) == "The body.\n"
    mirrord.app.execute("UPDATE mirrord.page SET markdown = 'Another body.' WHERE id = %s", [page.id])
    eventually(lambda: mirrord.text(path) == "Another body.", "what the author wrote then")
    assert_over(mirrord, path)


def test_a_view_that_no_file_can_hold_does_not_keep_others_waiting(mirrord: Mirrord) -> None:
    with mirrord.frozen():
        odd = add_page(mirrord.app, name=f"Odd {uuid4().hex[:8]}", markdown="odd")
        names = [f"Beside {uuid4().hex[:8]}" for _ in range(3)]
        for name in names:
            add_page(mirrord.app, name=name, title="A title", frontmatter=None)
        _change(mirrord, odd, "frontmatter", '{"a": 1e400}')
    for name in names:
        eventually(lambda path=f"{name}.md": mirrord.text(path), f"the file of {name}")  # type: ignore[misc]
    delete(mirrord.app, odd)


@pytest.mark.parametrize("json", ['{"a": 1e400}', f'{{"a": {deep("[]")}}}', f'{{"a": {LARGE}}}'])
def test_data_of_a_record_that_no_file_can_hold_waits_for_its_author(mirrord: Mirrord, json: str) -> None:
    key = uuid4().hex[:8]
    path = f".records/categories/{key}.yaml"
    save(mirrord.file(path), "dir: Books\n")
    query = "UPDATE mirrord.record SET data = data || %s::jsonb WHERE key = %s"
    eventually(lambda: mirrord.app.execute(query, [json, key]).rowcount == 1, "a row of the record")
    look_everywhere(mirrord)
    assert_said(mirrord, path)
    codes = mirrord.app.execute("SELECT code FROM mirrord.problem WHERE path = %s", [path]).fetchall()
    assert codes == [("render",)]
    assert mirrord.text(path) == "dir: Books\n"


def _change(mirrord: Mirrord, page: UUID, column: str, json: str) -> int:
    query = f"UPDATE mirrord.page SET {column} = %s::jsonb WHERE id = %s"
    return mirrord.app.execute(query.encode(), [json, page]).rowcount
