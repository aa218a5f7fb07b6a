"""The table of nodes, marks and attributes: the JSON Schema made from it, and what the codec's own names say."""

import json
from pathlib import Path

import jsonschema
import pytest
from hypothesis import HealthCheck, assume, given, reject, settings

from mirrord.cli import main
from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.page_text import PageText, decode
from mirrord.markdown.frontmatter.yaml_reader import Json
from mirrord.markdown.read.reader import read_document
from mirrord.markdown.schema.document import BLOCKS, INLINE, MARKS, Document, Mark, Node, make_document, text_node
from mirrord.markdown.schema.node_types import MARKS as MARK_TABLE
from mirrord.markdown.schema.node_types import NODES, attributes_of, json_schema
from mirrord.markdown.schema.normal_form import normalize
from mirrord.markdown.write.render import NewViews, render
from tests.support.laws import scale_examples
from tests.unit.codec.documents import documents, markdown

ROOT = Path(__file__).parents[3]
JUDGE = jsonschema.Draft202012Validator(json_schema())


def is_valid(content: Node) -> bool:
    return JUDGE.is_valid(content)


def in_paragraph(*content: Node) -> Document:
    return make_document([{"type": "paragraph", "content": list(content)}])


def test_it_is_a_json_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(json_schema())


def test_the_command_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["schema"])

    assert ended.value.code == 0
    assert json.loads(capsys.readouterr().out) == json_schema()


@pytest.mark.parametrize(
    "path",
    [*sorted((ROOT / "tests" / "cases").glob("*.md")), *sorted((ROOT / "data" / "sample").rglob("*.md"))],
    ids=lambda path: path.stem,
)
def test_every_page_of_ours_is_read_as_a_valid_document(path: Path) -> None:
    JUDGE.validate(read_document(decode(path.read_bytes())))


def test_real_pages_are_read_as_valid_documents(pages: list[str]) -> None:
    for page in pages[::10]:
        JUDGE.validate(read_document(page))


def test_the_examples_of_the_specifications_are_read_as_valid_documents(examples: list[str]) -> None:
    for example in examples[::4]:
        JUDGE.validate(read_document(example))


@given(markdown)
@settings(max_examples=scale_examples(25))
def test_any_markdown_is_read_as_a_valid_document(text: str) -> None:
    JUDGE.validate(read_document(text))


@given(documents)
@settings(max_examples=scale_examples(25), suppress_health_check=list(HealthCheck))
def test_any_document_is_read_as_a_valid_one_where_markdown_has_a_form_for_it(content: Document) -> None:
    new_views = NewViews(id=None, title=None, icon=None, position=None, frontmatter=None, content=content)
    try:
        text = render(PageText(""), frozenset(["content"]), new_views, stem="Page").text
    except Damaged:
        reject()

    assume("tiptap-node" not in text)
    JUDGE.validate(read_document(text))


def test_what_nobody_knows_may_stand_anywhere() -> None:
    poll: Node = {"type": "poll", "attrs": {"id": 1}, "content": [{"type": "paragraph"}]}
    emoji: Node = {"type": "emoji", "attrs": {"name": "x"}, "marks": [{"type": "colour", "attrs": {"value": 1}}]}
    centred: Node = {"type": "paragraph", "attrs": {"id": "a", "textAlign": "center"}, "content": [emoji]}

    assert is_valid(make_document([poll, centred, {"type": "bulletList", "content": [poll]}]))


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        ({"type": "paragraph"}, "'doc' was expected"),
        (make_document([text_node("a")]), "'text' should not be valid"),
        (make_document([{"type": "listItem", "content": [{"type": "paragraph"}]}]), "'listItem' should not be valid"),
        (make_document([{"type": "bulletList"}]), "'content' is a required property"),
        (make_document([{"type": "bulletList", "content": []}]), "should be non-empty"),
        (make_document([{"type": "bulletList", "content": [{"type": "taskItem"}]}]), "'taskItem' should not be valid"),
        (make_document([{"type": "heading", "content": [text_node("a")]}]), "'attrs' is a required property"),
        (make_document([{"type": "heading", "attrs": {"level": "1"}}]), "'1' is not of type 'integer'"),
        (make_document([{"type": "heading", "attrs": {}}]), "'level' is a required property"),
        (make_document([{"type": "paragraph", "attrs": {"id": 1}}]), "1 is not of type 'string', 'null'"),
        (make_document([{"type": "callout", "attrs": {"type": "a", "fold": "x"}, "content": []}]), "'x' is not one of"),
        (make_document([{"type": "details", "content": [{"type": "detailsSummary"}]}]), "is too short"),
        (
            make_document([{"type": "codeBlock", "content": [text_node("a", [{"type": "bold"}])]}]),
            "expected to be empty",
        ),
        (make_document([{"type": "codeBlock", "content": [{"type": "hardBreak"}]}]), "'text' was expected"),
        (in_paragraph({"type": "text"}), "'text' is a required property"),
        (in_paragraph({"type": "paragraph"}), "'paragraph' should not be valid"),
        (in_paragraph(text_node("a", [{"type": "link"}])), "'attrs' is a required property"),
        (in_paragraph(text_node("a", [{"type": "highlight", "attrs": {"color": 1}}])), "1 is not of type 'string'"),
        ({"type": "doc", "content": [{"type": "poll", "colour": 1}]}, "'colour' was unexpected"),
        ({"type": "doc", "content": [{"type": "poll", "content": [{"type": "heading"}]}]}, "'attrs' is a required"),
        ({"type": "doc", "content": ["words"]}, "'words' is not of type 'object'"),
    ],
)
def test_a_wrong_document_is_refused_and_the_reason_named(content: Node, wrong: str) -> None:
    assert any(wrong in error.message for error in JUDGE.iter_errors(content))


def test_the_codec_knows_the_nodes_and_marks_of_the_table() -> None:
    inline = {name for name, node in NODES.items() if node.group == "inline"}

    assert inline == INLINE
    assert NODES.keys() - inline - {"doc"} == BLOCKS
    assert MARK_TABLE.keys() == MARKS


def test_a_default_is_not_missed_in_the_normal_form() -> None:
    attributes_by_name = {name: attributes_of(name) for name in NODES.keys() - {"doc", "text"}} | dict(MARK_TABLE)
    kept_defaults = {
        f"{name}.{key}"
        for name, attributes in attributes_by_name.items()
        for key, attribute in attributes.items()
        if attribute.default is not None and key in _kept(name, {key: attribute.default})
    }

    assert kept_defaults == set()


def test_ids_and_the_spelling_of_links_are_not_missed_in_the_normal_form() -> None:
    identified = [name for name in NODES if "id" in attributes_of(name) and "id" not in NODES[name].attributes]

    assert [name for name in identified if _kept(name, {"id": "a"})] == []
    assert _kept("link", {"auto": True}) == {}


def _kept(name: str, attrs: dict[str, Json]) -> dict[str, Json]:
    """What the normal form keeps of the attributes of a node or mark."""
    if name in MARK_TABLE:
        mark: Mark = {"type": name, "attrs": attrs}
        marks = normalize(text_node("a", [mark])).get("marks")
        return marks[0].get("attrs", {}) if marks else {}
    return normalize({"type": name, "attrs": attrs, "content": [text_node("a")]}).get("attrs", {})
