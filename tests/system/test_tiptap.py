"""What mirrord stores is what TipTap takes, and what TipTap gives back changes no byte that nobody edited."""

import json
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from mirrord.markdown.frontmatter.page_text import PageText, decode
from mirrord.markdown.frontmatter.yaml_reader import Json
from mirrord.markdown.read.reader import read_document
from mirrord.markdown.schema.document import Document, Mark, Node, make_document, text_node
from mirrord.markdown.schema.node_types import MARKS, NODES, attributes_of
from mirrord.markdown.schema.normal_form import fingerprint, normalize
from mirrord.markdown.starterkit.block_images import with_block_images, with_inline_images
from mirrord.markdown.starterkit.restored_document import from_starterkit
from mirrord.markdown.starterkit.shown_form import to_starterkit
from mirrord.markdown.write.content_losses import USUAL_LIMITS, find_loss
from mirrord.markdown.write.render import NewViews, render, splice_document
from tests.guide import examples, name_of
from tests.support import node
from tests.support.laws import scale_examples
from tests.support.tiptap import SOURCE, TipTap, running
from tests.unit.codec.documents import documents, markdown
from tests.unit.codec.test_json_schema import is_valid

ROOT = Path(__file__).parents[2]
CORPORA = ROOT.parent / "shared" / "corpora"
FILES = [*sorted((ROOT / "tests" / "cases").glob("*.md")), *sorted((ROOT / "data" / "sample").rglob("*.md"))]
OURS = [pytest.param(path, id=path.stem) for path in FILES]
GUIDE = [pytest.param(content, id=name_of(text)) for text, content in examples()]
PATIENT = settings(max_examples=scale_examples(30), deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def tiptap() -> Iterator[TipTap]:
    with running(node.installed(SOURCE)) as editor:
        yield editor


def rendered(text: str | None, content: Document) -> str:
    new_views = NewViews(id=None, title=None, icon=None, position=None, frontmatter=None, content=content)
    return render(PageText(text or ""), frozenset(["content"]), new_views, stem="Page").text


def meaning(node: Node) -> str:
    return fingerprint(normalize(node))


def identified(node: Node, path: str = "b") -> Node:
    """The node with an id wherever the schema has one."""
    content = [identified(child, f"{path}.{index}") for index, child in enumerate(node.get("content", []))]
    result: Node = {**node, "content": content} if "content" in node else {**node}
    if node["type"] in NODES and node["type"] != "mention" and "id" in attributes_of(node["type"]):
        result["attrs"] = {**node.get("attrs", {}), "id": path}
    return result


def ids(node: Node) -> list[Json]:
    own_id = node.get("attrs", {}).get("id")
    return [own_id, *(each for child in node.get("content", []) for each in ids(child))]


def lost(sent: Node, got: Node) -> Iterator[str]:
    """What of *sent* is not in *got*, whatever the normal form thinks of it."""
    if sent["type"] != got["type"] or sent.get("text") != got.get("text"):
        yield f"{sent['type']} became {got}"
    for sent_node, other in zip(in_order(sent), in_order(got), strict=True):
        yield from _lost_attributes(sent_node, other)
    children, others = sent.get("content", []), got.get("content", [])
    if len(children) != len(others):
        yield f"{sent['type']}: {others} instead of {children}"
    for child, other in zip(children, others, strict=False):
        yield from lost(child, other)


def in_order(node: Node) -> list[Node | Mark]:
    """The node and its marks."""
    return [node, *sorted(node.get("marks", []), key=lambda mark: mark["type"])]


def _lost_attributes(sent: Node | Mark, got: Node | Mark) -> Iterator[str]:
    attrs = got.get("attrs", {})
    for key, value in sent.get("attrs", {}).items():
        if value is not None and attrs.get(key) != value:
            yield f"{sent['type']}.{key}"


def changed(before: str, after: str) -> tuple[str, str]:
    """The lines that differ, in both texts; they are in one place."""
    old, new = before.split("\n"), after.split("\n")
    matching = SequenceMatcher(None, old, new, autojunk=False)
    ((_, i, i_end, j, j_end),) = [code for code in matching.get_opcodes() if code[0] != "equal"]
    return "\n".join(old[i:i_end]), "\n".join(new[j:j_end])


def check(tiptap: TipTap, text: str) -> None:
    """The page of *text* goes through the editor without loss and without a changed byte."""
    content = identified(read_document(text))
    back = tiptap.load(content)

    if content["content"]:  # an empty page is shown with a paragraph to type in
        assert ids(back) == ids(content)
    assert meaning(back) == meaning(content)
    assert rendered(text, back) == text


@pytest.mark.parametrize("path", OURS)
def test_pages_of_ours_go_through_the_editor_unchanged(tiptap: TipTap, path: Path) -> None:
    check(tiptap, decode(path.read_bytes()))


@pytest.mark.skipif(not CORPORA.exists(), reason="the corpora are not part of the project")
def test_real_pages_go_through_the_editor_unchanged(tiptap: TipTap) -> None:
    foam = sorted((CORPORA / "foam").rglob("*.md"))[1::6]
    dendron = sorted((CORPORA / "dendron-site").rglob("*.md"))[1::60]
    for path in foam + dendron:
        check(tiptap, path.read_bytes().decode())


@given(text=markdown)
@PATIENT
def test_any_markdown_goes_through_the_editor_unchanged(tiptap: TipTap, text: str) -> None:
    check(tiptap, text)


@given(content=documents.filter(is_valid))
@PATIENT
def test_any_document_of_the_schema_comes_back_as_it_was_given(tiptap: TipTap, content: Document) -> None:
    assert meaning(tiptap.load(content)) == meaning(content)


@pytest.mark.parametrize("path", OURS)
def test_typing_in_the_editor_changes_one_block_of_the_file(tiptap: TipTap, path: Path) -> None:
    text = decode(path.read_bytes())

    edited = rendered(text, tiptap.load(read_document(text), typed=" typed"))

    (old, new) = changed(text, edited)
    assert new.replace(" typed", "", 1).split("\n")[0] == old.split("\n")[0]
    assert "\n\n" not in old + new


def test_a_block_that_is_split_leaves_its_id_to_the_first_half(tiptap: TipTap) -> None:
    content = identified(read_document("one\n\ntwo\n"))

    assert [block["attrs"]["id"] for block in tiptap.load(content, typed="\n")["content"]] == ["b.0", None, "b.1"]


@pytest.mark.parametrize("typed", [None, "x", "and so on"])
def test_a_page_that_an_ordinary_editor_shows_as_empty_is_not_emptied_by_its_save(
    tiptap: TipTap, typed: str | None
) -> None:
    content = read_document(f"# A page\n\nwith a [[link]] {'and some words ' * 20}\n")

    saved = tiptap.save_as_ordinary_app(content, typed)

    assert "A page" not in json.dumps(saved)
    assert find_loss(content["content"], saved["content"]) is not None


def test_a_page_that_an_ordinary_editor_can_show_is_saved_by_it(tiptap: TipTap) -> None:
    text = f"# A page\n\n{'and some words ' * 20}\n\n- [ ] a task\n\n| a | b |\n| - | - |\n| c | d |\n"
    content = read_document(text)

    saved = tiptap.save_as_ordinary_app(content, "x")

    assert find_loss(content["content"], saved["content"]) is None
    assert rendered(text, saved) == text.replace("# A", "# xA")


@pytest.mark.parametrize("path", OURS)
def test_an_ordinary_editor_shows_and_saves_every_page_in_the_form_for_it(tiptap: TipTap, path: Path) -> None:
    page = PageText(decode(path.read_bytes()))
    content = read_document(page.text)

    saved = tiptap.save_as_ordinary_app(to_starterkit(content), is_checked=True)

    assert splice_document(page.body, from_starterkit(saved, content), "\n", limits=USUAL_LIMITS) == page.body


@PATIENT
@given(documents)
def test_an_ordinary_editor_shows_every_document_in_the_form_for_it(tiptap: TipTap, document: Document) -> None:
    saved = tiptap.save_as_ordinary_app(to_starterkit(document), is_checked=True)

    assert meaning(from_starterkit(saved, document)) == meaning(document)


@pytest.mark.parametrize("path", OURS)
def test_an_editor_with_block_images_shows_and_saves_every_page_in_the_form_for_it(tiptap: TipTap, path: Path) -> None:
    page = PageText(decode(path.read_bytes()))
    content = read_document(page.text)

    saved = tiptap.save_as_ordinary_app(
        with_block_images(to_starterkit(content)), is_checked=True, has_block_images=True
    )

    restored = from_starterkit(with_inline_images(saved, content), content)
    assert splice_document(page.body, restored, "\n", limits=USUAL_LIMITS) == page.body


@PATIENT
@given(documents)
def test_an_editor_with_block_images_shows_every_document_in_the_form_for_it(
    tiptap: TipTap, document: Document
) -> None:
    form = with_block_images(to_starterkit(document))

    saved = tiptap.save_as_ordinary_app(form, is_checked=True, has_block_images=True)

    assert meaning(from_starterkit(with_inline_images(saved, document), document)) == meaning(document)


def test_what_the_editor_does_not_know_comes_back_as_it_was(tiptap: TipTap) -> None:
    poll: Node = {"type": "poll", "attrs": {"id": 1}, "content": [{"type": "answer", "content": [text_node("a")]}]}
    emoji: Node = {"type": "emoji", "attrs": {"name": "x"}, "marks": [{"type": "colour", "attrs": {"value": 1}}]}
    link = text_node("a", [{"type": "link", "attrs": {"href": "x", "data": [1]}}])
    odd: Node = {"type": "bulletList", "content": [{"type": "paragraph", "content": [link]}]}
    centred: Node = {"type": "paragraph", "attrs": {"textAlign": "center"}, "content": [emoji, link]}
    content = make_document([poll, odd, centred])

    assert meaning(tiptap.load(content)) == meaning(content)


@pytest.mark.parametrize("content", GUIDE)
def test_the_examples_of_the_guide_go_through_the_editor(tiptap: TipTap, content: Document) -> None:
    assert list(lost(identified(content), tiptap.load(identified(content)))) == []


@pytest.mark.parametrize("content", GUIDE)
def test_copy_and_paste_keeps_all_but_the_end_of_a_code_blocks_language(tiptap: TipTap, content: Document) -> None:
    assert set(lost(identified(content), tiptap.paste(identified(content)))) <= {"codeBlock.language"}


def test_an_empty_page_has_a_paragraph_to_type_in(tiptap: TipTap) -> None:
    back = tiptap.load(make_document([]))

    assert [node["type"] for node in back["content"]] == ["paragraph"]
    assert rendered("", back) == ""


def test_the_editor_declares_every_node_mark_and_attribute_of_the_schema(tiptap: TipTap) -> None:
    declared = tiptap.schema()

    for name in NODES.keys() - {"text"}:
        assert attributes_of(name).keys() <= declared["nodes"][name].keys(), name
    for name, attributes in MARKS.items():
        assert attributes.keys() <= declared["marks"][name].keys(), name


def test_what_tiptap_adds_by_itself_says_nothing_in_the_schema(tiptap: TipTap) -> None:
    declared = tiptap.schema()
    attributes_by_name = {name: attributes_of(name) for name in NODES} | {
        name: dict(mark_attributes) for name, mark_attributes in MARKS.items()
    }

    differing = {
        f"{name}.{key}"
        for name, attributes in (declared["nodes"] | declared["marks"]).items()
        for key, default in attributes.items()
        if default is not None and attributes_by_name[name][key].default != default
    }

    assert differing == {"heading.level"}  # which every heading says anyway
