"""Ids and unchanged nodes over edits: what did not change stays the same object, what was edited keeps its id."""

import time
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirrord.markdown.frontmatter.yaml_reader import Json
from mirrord.markdown.read.reader import read_document
from mirrord.markdown.schema.block import ITEMS, id_of
from mirrord.markdown.schema.document import BLOCKS, TEXTBLOCKS, Document, Node, make_document, text_node
from mirrord.markdown.write.stored_form import complete_ids, content_of, keep_nodes_and_ids
from tests.support.laws import scale_examples
from tests.unit.codec.documents import blocks, documents, markdown, meaning

_words = st.sampled_from("alpha beta gamma delta epsilon zeta eta theta iota kappa".split())
_texts = st.lists(_words, min_size=2, max_size=6).map(" ".join)


def paragraph(text: str, **attrs: Json) -> Node:
    node: Node = {"type": "paragraph", "content": [text_node(text)]}
    return {**node, "attrs": attrs} if attrs else node


def items(*texts: str) -> Node:
    return {"type": "bulletList", "content": [{"type": "listItem", "content": [paragraph(text)]} for text in texts]}


def content(page: Document) -> list[Node]:
    return page.get("content") or []


def ids(page: Document) -> list[str | None]:
    """Of all that needs one."""
    node_ids: list[str | None] = []

    def collect(node: Node, *, needs: bool) -> None:
        if node["type"] in BLOCKS:
            node_ids.extend([id_of(node)] if needs else [])
            for child in node.get("content") or []:
                if node["type"] not in TEXTBLOCKS | {"codeBlock"}:
                    collect(child, needs=child["type"] in ITEMS)

    for node in content(page):
        collect(node, needs=True)
    return node_ids


def assert_identified(page: Document) -> None:
    page_ids = ids(page)
    assert all(page_ids), page
    assert len(set(page_ids)) == len(page_ids), page


def numbered(count: int) -> list[Node]:
    return [paragraph(f"paragraph number {number}") for number in range(count)]


@given(documents, documents)
@settings(max_examples=scale_examples(30))
def test_everything_that_needs_an_id_has_one_of_its_own(new: Document, old: Document) -> None:
    for page in (
        keep_nodes_and_ids(new, None),
        keep_nodes_and_ids(new, old),
        keep_nodes_and_ids(new, keep_nodes_and_ids(old, None)),
    ):
        assert_identified(page)
    assert_identified(complete_ids(new, content_of(old)))


@given(documents)
@settings(max_examples=scale_examples(30))
def test_what_did_not_change_is_equal_and_the_same_ids_are_derived_everywhere(page: Document) -> None:
    before = keep_nodes_and_ids(page, None)

    assert keep_nodes_and_ids(page, None) == before
    assert keep_nodes_and_ids(page, before) == before
    assert keep_nodes_and_ids(before, before) == before
    assert meaning(before) == meaning(page)


@given(markdown, markdown)
def test_what_is_carried_means_what_was_read(text: str, other: str) -> None:
    new = read_document(text)

    assert meaning(keep_nodes_and_ids(new, keep_nodes_and_ids(read_document(other), None))) == meaning(new)


@given(st.lists(blocks, max_size=5), st.data())
@settings(max_examples=scale_examples(30))
def test_unchanged_blocks_are_the_same_whatever_happens_elsewhere(page: list[Node], data: st.DataObject) -> None:
    distinct = list({meaning(node): node for node in page}.values())
    old = keep_nodes_and_ids(make_document(distinct), None)
    kept_nodes = data.draw(st.lists(st.sampled_from(distinct), unique_by=meaning)) if distinct else []
    new = [
        _without_ids(node) for kept_node in kept_nodes for node in (*data.draw(st.lists(blocks, max_size=2)), kept_node)
    ]

    result = keep_nodes_and_ids(make_document(new), old)

    counts = Counter(map(meaning, new))
    before = {meaning(node): node for node in content(old)}
    after = {meaning(node): node for node in content(result) if counts[meaning(node)] == 1}
    assert all(after[key] == before[key] for key in after.keys() & before.keys())
    assert {key for key in after if key in before} >= {meaning(n) for n in kept_nodes if counts[meaning(n)] == 1}


@given(st.lists(_texts, min_size=1, max_size=8, unique=True), st.data())
def test_a_block_edited_in_place_keeps_its_id(texts: list[str], data: st.DataObject) -> None:
    old = keep_nodes_and_ids(make_document([paragraph(text) for text in texts]), None)
    index = data.draw(st.integers(0, len(texts) - 1))
    edited = [*texts[:index], texts[index] + " edited", *texts[index + 1 :]]

    assert ids(keep_nodes_and_ids(make_document([paragraph(text) for text in edited]), old)) == ids(old)


def test_an_edited_block_is_told_from_a_new_one_beside_it() -> None:
    old = keep_nodes_and_ids(
        make_document([paragraph("one"), paragraph("the quick brown fox"), paragraph("three")]), None
    )
    new = [paragraph("one"), paragraph("all new"), paragraph("the quick red fox"), paragraph("three")]

    new_ids = ids(keep_nodes_and_ids(make_document(new), old))

    assert [new_ids[0], new_ids[2], new_ids[3]] == ids(old)


def test_a_block_that_was_moved_and_edited_keeps_its_id_and_a_new_one_there_gets_its_own() -> None:
    page = numbered(5)
    old = keep_nodes_and_ids(make_document([paragraph("the quick brown fox jumps"), *page]), None)

    new_ids = ids(keep_nodes_and_ids(make_document([*page, paragraph("the quick red fox jumps")]), old))
    other = ids(keep_nodes_and_ids(make_document([*page, paragraph("nothing of it is there any more")]), old))

    assert new_ids == [*ids(old)[1:], ids(old)[0]]
    assert other[-1] not in ids(old)


def test_a_heading_made_of_a_paragraph_keeps_its_id_but_another_block_in_its_place_does_not() -> None:
    old = keep_nodes_and_ids(make_document([paragraph("The plan of today")]), None)
    heading: Node = {"type": "heading", "attrs": {"level": 1}, "content": [text_node("The plan of today")]}

    assert ids(keep_nodes_and_ids(make_document([heading]), old)) == ids(old)
    assert ids(keep_nodes_and_ids(make_document([{"type": "horizontalRule"}]), old)) != ids(old)


@given(st.permutations(range(9)))
def test_moved_blocks_keep_their_ids(order: list[int]) -> None:
    page = numbered(9)
    old = keep_nodes_and_ids(make_document(page), None)

    moved = keep_nodes_and_ids(make_document([page[index] for index in order]), old)

    assert content(moved) == [content(old)[index] for index in order]


@given(st.integers(0, 11), st.integers(0, 3))
def test_equal_blocks_keep_their_ids_beside_their_neighbours(index: int, removed: int) -> None:
    rule: Node = {"type": "horizontalRule"}
    page = [node for block in numbered(6) for node in (block, rule)]
    old = content(keep_nodes_and_ids(make_document(page), None))
    changed = [*page[:index], paragraph("new"), *page[index + removed :]]

    new = content(keep_nodes_and_ids(make_document(changed), make_document(old)))

    assert new[:index] == old[:index]
    assert new[index + 1 :] == old[index + removed :]


def test_items_are_carried_as_blocks_are() -> None:
    old = keep_nodes_and_ids(make_document([items("one", "the second item", "three")]), None)

    new = keep_nodes_and_ids(make_document([items("new", "one", "the second item, edited", "three")]), old)

    before, after = ids(old), ids(new)
    assert [after[0], after[2], after[3], after[4]] == before
    assert content(new)[0]["content"][1] == content(old)[0]["content"][0]


def test_an_item_moved_to_the_front_keeps_its_id() -> None:
    old = keep_nodes_and_ids(make_document([items("one", "two", "three")]), None)

    new = keep_nodes_and_ids(make_document([items("three", "one", "two")]), old)

    mine = content(old)[0]["content"]
    assert content(new)[0]["content"] == [mine[2], mine[0], mine[1]]


def test_what_an_editor_adds_to_its_nodes_stays_while_they_do() -> None:
    quoted = [paragraph("in", id="c"), paragraph("out", id="d")]
    written = make_document(
        [
            paragraph("left", id="a", textAlign="left", extra=None),
            {"type": "blockquote", "attrs": {"id": "b"}, "content": quoted},
            {"type": "image", "attrs": {"src": "x.png", "alt": None}},
        ]
    )
    text = "left\n\n> in\n>\n> other\n\n![](x.png)\n"

    first, quote, image = content(keep_nodes_and_ids(read_document(text), written))

    assert (first, image) == (content(written)[0], content(written)[2])
    assert quote["attrs"]["id"] == "b"
    assert [id_of(child) for child in quote["content"]] == ["c", "d"]
    assert quote["content"][0] == paragraph("in", id="c")


EMPTY: Node = {"type": "paragraph", "attrs": {"id": "empty"}}


def test_empty_paragraphs_stay_between_their_neighbours() -> None:
    old = keep_nodes_and_ids(
        make_document([paragraph("one"), EMPTY, paragraph("two"), {**EMPTY, "attrs": {"id": "end"}}]), None
    )

    assert ids(keep_nodes_and_ids(read_document("one\n\ntwo\n"), old)) == ids(old)
    assert ids(keep_nodes_and_ids(read_document("one, edited\n\ntwo\n"), old)) == ids(old)
    assert content(keep_nodes_and_ids(read_document("one\n\nnew\n\ntwo\n"), old))[1]["content"] == [text_node("new")]
    assert [id_of(node) for node in content(keep_nodes_and_ids(read_document("one\n"), old))] == ids(old)[:1]


def test_a_document_of_an_empty_paragraph_stays_while_the_page_is_empty() -> None:
    assert keep_nodes_and_ids(read_document(""), make_document([EMPTY])) == make_document([EMPTY])


def test_a_line_break_alone_that_is_taken_out_of_the_file_does_not_stay() -> None:
    old = keep_nodes_and_ids(read_document("one\n\n<br>\n\ntwo\n"), None)
    assert len(content(old)) == 3
    assert len(content(keep_nodes_and_ids(read_document("one\n\ntwo\n"), old))) == 2


def test_of_equal_ids_the_first_stays() -> None:
    old = make_document([paragraph("one", id="x"), paragraph("two", id="x"), paragraph("three", id="y")])

    moved = keep_nodes_and_ids(make_document([paragraph("two"), paragraph("one"), paragraph("three")]), old)

    new_ids = ids(moved)
    assert new_ids[1:] == ["x", "y"]
    assert new_ids[0] not in ("x", "y", None)


def test_an_id_is_never_given_twice_though_its_first_bearer_was_edited() -> None:
    first = keep_nodes_and_ids(read_document("same\n"), None)
    edited = keep_nodes_and_ids(read_document("same but edited\n"), first)
    assert ids(edited) == ids(first)

    both = keep_nodes_and_ids(read_document("same\n\nother\n\nsame but edited\n"), edited)

    assert ids(both)[2] == ids(first)[0]
    assert_identified(both)


@pytest.mark.parametrize(
    "garbage",
    [None, 1, "x", [], {}, {"type": "doc", "content": 1}, {"type": "doc", "content": [{"type": "text"}]}],
)
def test_an_old_document_that_is_none_counts_for_nothing(garbage: object) -> None:
    new = make_document([paragraph("one")])
    assert keep_nodes_and_ids(new, garbage) == keep_nodes_and_ids(new, None)


_attrs = st.one_of(
    st.none(),
    st.dictionaries(
        st.sampled_from(["id", "level", "start", "latex", "textAlign"]),
        st.one_of(st.none(), st.integers(), st.text(max_size=2), st.lists(st.integers(), max_size=1)),
        max_size=3,
    ),
)
_marks = st.lists(
    st.fixed_dictionaries({"type": st.sampled_from(["bold", "code", "link", "odd"])}, optional={"attrs": _attrs}),
    max_size=2,
)
_texts_of_any_kind = st.fixed_dictionaries(
    {"type": st.just("text"), "text": st.text(max_size=3)}, optional={"marks": st.one_of(st.none(), _marks)}
)
_odd: st.SearchStrategy[object] = st.recursive(
    _texts_of_any_kind,
    lambda children: st.fixed_dictionaries(
        {"type": st.sampled_from([*sorted(BLOCKS), "image", "hardBreak", "odd", "doc"])},
        optional={"attrs": _attrs, "content": st.one_of(st.none(), st.lists(children, max_size=3)), "marks": _marks},
    ),
    max_leaves=8,
)


@given(st.lists(_odd, max_size=3), documents)
@settings(max_examples=scale_examples(40))
def test_whatever_apps_wrote_is_carried_and_completed(odd: list[object], new: Document) -> None:
    old: Document = {"type": "doc", "content": odd}  # type: ignore[typeddict-item]

    assert meaning(keep_nodes_and_ids(new, old)) == meaning(new)
    assert_identified(keep_nodes_and_ids(new, old))
    assert_identified(complete_ids(old, content_of(new)))
    assert meaning(complete_ids(old, content_of(new))) == meaning(old)


def test_an_app_that_knows_no_ids_gets_those_of_before() -> None:
    old = keep_nodes_and_ids(make_document([paragraph("one"), items("a", "b"), paragraph("three words here")]), None)
    written = make_document(
        [paragraph("one", textAlign="left"), items("a", "b", "c"), paragraph("three other words here")]
    )

    result = complete_ids(written, content_of(old))

    before, after = ids(old), ids(result)
    assert [*after[:4], after[5]] == before
    assert content(result)[0] == paragraph("one", textAlign="left", id=before[0])


def test_an_id_an_app_uses_is_not_handed_to_another_block() -> None:
    old = make_document([paragraph("one", id="x"), paragraph("two", id="y")])
    written = make_document([paragraph("one"), paragraph("a copy of one", id="x"), paragraph("two", id="y")])

    new_ids = ids(complete_ids(written, content_of(old)))

    assert new_ids[1:] == ["x", "y"]
    assert_identified(complete_ids(written, content_of(old)))


@given(documents)
@settings(max_examples=scale_examples(30))
def test_what_an_app_wrote_stays_but_for_its_ids(written: Document) -> None:
    result = complete_ids(written, ())

    assert complete_ids(result, ()) == result
    assert _without_ids(result) == _without_ids(written)


def _without_ids(value: Node) -> Node:
    result: Node = {**value}
    if value["type"] in BLOCKS:
        result["attrs"] = {key: attribute for key, attribute in (value.get("attrs") or {}).items() if key != "id"}
    if value.get("content"):
        result["content"] = [_without_ids(child) for child in value["content"]]
    return result


def test_the_id_of_a_node_the_schema_lacks_is_its_own_business() -> None:
    video: Node = {"type": "youtube", "attrs": {"src": "x"}}
    twice: Node = {"type": "youtube", "attrs": {"src": "x", "id": "v"}}

    assert content(keep_nodes_and_ids(make_document([video, twice, twice]), None)) == [video, twice, twice]


@pytest.mark.parametrize("edit", ["one", "all", "reversed", "equal"])
def test_five_thousand_blocks_are_carried_in_no_time(edit: str) -> None:
    page = numbered(5000) if edit != "equal" else [paragraph("same")] * 5000
    old = keep_nodes_and_ids(make_document(page), None)
    new = {
        "one": [*page[:2500], paragraph("new"), *page[2501:]],
        "all": [paragraph(f"other text {number}") for number in range(5000)],
        "reversed": page[::-1],
        "equal": page[:4000],
    }[edit]
    started = time.process_time()
    result = keep_nodes_and_ids(make_document(new), old)

    assert time.process_time() - started < 2.0  # generous: it takes a tenth of that
    assert len(set(ids(result)) & set(ids(old))) >= 3999
