"""What docs/tiptap.md tells people who connect an editor is so."""

import re
from collections.abc import Mapping
from pathlib import Path

import jsonschema
import pytest

from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.read.reader import read_document
from mirrord.markdown.schema.document import Document, Node
from mirrord.markdown.schema.node_types import MARKS, NODES, Attribute, json_schema
from mirrord.markdown.schema.normal_form import fingerprint, normalize
from mirrord.markdown.write.render import NewViews, render
from tests.guide import GUIDE, examples, name_of
from tests.support.tiptap import SOURCE

ROOT = Path(__file__).parents[3]
ROW = re.compile(r"^\| `(\w+)` \|(?:.*\|)? ?(.*?) ?\|$", re.MULTILINE)


def meaning(node: Node) -> str:
    return fingerprint(normalize(node))


EXAMPLES = [pytest.param(text, content, id=name_of(text)) for text, content in examples()]


@pytest.mark.parametrize(("text", "content"), EXAMPLES)
def test_an_example_is_read_and_written_as_shown(text: str, content: Document) -> None:
    new_views = NewViews(id=None, title=None, icon=None, position=None, frontmatter=None, content=content)

    assert meaning(read_document(text)) == meaning(content)
    assert render(PageText(""), frozenset(["content"]), new_views, stem="Page").text == text


def test_the_examples_keep_to_the_schema() -> None:
    judge = jsonschema.Draft202012Validator(json_schema())

    for _, content in examples():
        judge.validate(content)


def test_every_example_is_found() -> None:
    assert len(EXAMPLES) == len(re.findall("^`+markdown$", GUIDE, re.MULTILINE)) > 10


def test_the_examples_have_every_node_mark_and_attribute_in_them() -> None:
    names: set[str] = set()
    for _, content in examples():
        _see(content, names)
    attributes_by_name = {name: node.attributes for name, node in NODES.items()} | dict(MARKS)
    native = {
        f"{name}.{key}"
        for name, attributes in attributes_by_name.items()
        for key, attribute in attributes.items()
        if attribute.native
    }

    assert names >= NODES.keys() | MARKS.keys()
    assert names >= native


def _see(node: Node, names: set[str]) -> None:
    for element in (node, *node.get("marks", [])):
        names.add(element["type"])
        names.update(f"{element['type']}.{key}" for key in element.get("attrs", {}))
    for child in node.get("content", []):
        _see(child, names)


def test_the_tables_name_every_node_mark_and_attribute() -> None:
    documented = dict(ROW.findall(GUIDE))
    nodes = {name: _cell(node.attributes) for name, node in NODES.items()}

    assert documented == nodes | {name: _cell(attributes) for name, attributes in MARKS.items()}


def _cell(attributes: Mapping[str, Attribute]) -> str:
    return ", ".join(f"*`{key}`*" if attribute.required else f"`{key}`" for key, attribute in attributes.items())


def test_the_module_it_points_to_is_the_one_that_is_tested() -> None:
    (path,) = re.findall(r"for TipTap 3: `(.+schema\.js)`", GUIDE)

    assert ROOT / path == SOURCE / "src" / "document" / "schema.js"
    assert (ROOT / path).is_file()
    assert "from '../src/document/schema.js'" in (SOURCE / "test" / "roundtrip.js").read_text(encoding="utf-8")
