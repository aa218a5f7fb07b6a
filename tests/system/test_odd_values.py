"""Values that Postgres, JSON or mirrord itself cannot hold: nothing is lost, a problem says where, the rest goes on."""

from collections.abc import Iterator
from uuid import UUID, uuid4

import pytest

from mirrord.codec.reader import FENCE
from tests.system.editors import save
from tests.system.entries import add_page, delete, row_of, value
from tests.system.harness import Mirrord, eventually
from tests.system.health import assert_listed, assert_over, assert_said, assert_syncs, look_everywhere, problem

DEEP = 3000
LARGE = "1" * 30  # more than 64 bits


@pytest.fixture(scope="module")
def daemon(admin_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mirrord]:
    """One daemon for all tests of this module."""
    with Mirrord(tmp_path_factory.mktemp("odd"), tenant="odd-values", dsn=admin_dsn) as started:
        started.up()
        yield started


@pytest.fixture
def mirrord(daemon: Mirrord) -> Iterator[Mirrord]:
    """The daemon: after the test it goes on syncing, and making documents."""
    yield daemon
    assert_syncs(daemon)
    save(daemon.file("Last.md"), f"a text {uuid4()}\n")
    missing = "SELECT count(*) FROM mirrord.page WHERE content IS NULL AND kind = 'page' AND deleted_at IS NULL"
    eventually(lambda: daemon.page("Last.md") is not None and value(daemon.app, missing) == 0, "all documents")


@pytest.mark.parametrize(
    "source",
    [
        'a: "\\0"',
        '"a\\0": 1',
        'a: [b, {c: "\\x00"}]',
        'title: "\\u0000"',
        'id: "\\0"',
        'a: "\\ud800"',
        'a: "\\ud83d\\ude00"',
        "a: " + "[" * DEEP,
        "a: " + "[" * 80 + "]" * 80,
    ],
    ids=["nul", "nul-in-key", "nul-within", "nul-title", "nul-id", "half", "halves", "unclosed", "deep"],
)
def test_a_page_whose_front_matter_no_row_can_hold_is_synced_as_it_is(mirrord: Mirrord, source: str) -> None:
    path, text = f"Odd {uuid4().hex[:8]}.md", f"---\n{source}\nb: 1\n---\nThe body.\n"
    save(mirrord.file(path), text)
    assert_listed(mirrord, path, path, "line 2 of the front matter")
    page = mirrord.page(path)
    assert page is not None
    assert page.markdown == text == mirrord.text(path)
    save(mirrord.file(path), "---\nb: 2\n---\nThe body.\n")
    assert_over(mirrord, path)
    eventually(lambda: row_of(mirrord.app, page.id)["frontmatter"] == {"b": 2}, "the front matter in the row")


@pytest.mark.parametrize("number", [".inf", ".nan", "1e400", "-1e400", "9" * 400])
def test_what_is_no_number_of_json_is_text(mirrord: Mirrord, number: str) -> None:
    path, text = f"Number {uuid4().hex[:8]}.md", f"---\na: {number}\n---\nThe body.\n"
    save(mirrord.file(path), text)
    page = eventually(lambda: mirrord.page(path), f"a row of {path}")
    assert row_of(mirrord.app, page.id)["frontmatter"] == {"a": number}
    assert problem(mirrord, path) is None


@pytest.mark.parametrize(
    "body",
    [
        "[a](b%00c)",
        "[a]: b%00c.md#d%00",
        f'<!-- tiptap {{"a":{"[" * 400}{"]" * 400}}} -->\n# A',
        f'<!-- tiptap {{"a":{"[" * 1020}{"]" * 1020}}} -->\n# A',
        f'one <span data-tt="{{&quot;type&quot;:&quot;x&quot;,&quot;attrs&quot;:{{&quot;a&quot;:{"[" * 400}{"]" * 400}'
        '}}"></span> two',
        f'```{FENCE}\n{{"type":"x","attrs":{{"a":{"[" * 400}{"]" * 400}}}}}\n```',
        f'```{FENCE}\n{{"type":"x","attrs":{{"a":{LARGE}, "b": "\\u0000"}}}}\n```',
    ],
    ids=["link", "definition", "deep-comment", "deepest-comment", "deep-tag", "deep-fence", "fence"],
)
def test_a_body_with_odd_values_gets_a_document_and_stays_as_it_is(mirrord: Mirrord, body: str) -> None:
    path = f"Body {uuid4().hex[:8]}.md"
    save(mirrord.file(path), body + "\n")
    page = eventually(lambda: mirrord.page(path), f"a row of {path}")
    eventually(lambda: row_of(mirrord.app, page.id)["content"] is not None, "its document")
    assert row_of(mirrord.app, page.id)["markdown"] == body + "\n" == mirrord.text(path)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (".records/categories/{}.yaml", 'dir: "\\0"\n'),
        (".records/categories/{}.yaml", 'dir: "\\ud800"\n'),
        (".records/categories/{}.yaml", "dir: " + "[" * DEEP),
        (".records/segments/{}.json", '{"a": "\\u0000"}'),
        (".records/segments/{}.json", '{"a": "\\ud800"}'),
        (".records/segments/{}.json", '{"a": 1e400}'),
        (".records/segments/{}.json", '{"a": NaN}'),
        (".records/segments/{}.json", f'{{"a": {LARGE}}}'),
        (".records/segments/{}.json", '{"a": ' + "9" * 5000 + "}"),
        (".records/segments/{}.json", '{"a": ' + "[" * DEEP + "]" * DEEP + "}"),
    ],
    ids=["yaml-nul", "yaml-half", "yaml-deep", "nul", "half", "infinite", "nan", "large", "endless", "deep"],
)
def test_a_record_that_no_row_can_hold_is_kept_as_text(mirrord: Mirrord, path: str, text: str) -> None:
    key = str(uuid4()) if "segments" in path else uuid4().hex[:8]
    path = path.format(key)
    save(mirrord.file(path), text)
    assert_listed(mirrord, path, path)
    found = mirrord.app.execute("SELECT text, data FROM mirrord.record WHERE key = %s", [key]).fetchone()
    assert found == (text, None)
    assert mirrord.text(path) == text


def deep(brackets: str, depth: int = DEEP) -> str:
    return brackets[0] * depth + brackets[1] * depth


@pytest.mark.parametrize(
    ("column", "json"),
    [
        ("frontmatter", '{"a": 1e400}'),
        ("frontmatter", f'{{"a": {deep("[]")}}}'),
        ("frontmatter", f'{{"a": {deep("[]", 500)}}}'),
        ("content", '{"type": "doc", "content": [{"type": "x", "attrs": {"a": 1e400}}]}'),
        ("content", f'{{"type": "doc", "content": [{{"type": "x", "attrs": {{"a": {deep("[]")}}}}}]}}'),
        ("content", f'{{"type": "doc", "content": [{{"type": "x", "attrs": {{"a": {deep("[]", 500)}}}}}]}}'),
    ],
    ids=["number", "deepest", "deep", "document-number", "deepest-document", "deep-document"],
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
