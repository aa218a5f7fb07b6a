"""Whether two blocks differ is found without the normal forms of what is equal in them, and never wrongly."""

from copy import deepcopy
from operator import is_
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirrord.markdown.read.reader import read_document
from mirrord.markdown.schema.block import Block, differ_in_parts, with_id
from mirrord.markdown.schema.document import Document, Node
from mirrord.markdown.schema.normal_form import fingerprint, normalize
from tests.support.laws import scale_examples
from tests.unit.codec.documents import documents

LIST = "- a\n- b\n    - c\n    - d\n- e\n"


def parts_of(node: Node) -> list[Node]:
    return [node, *(part for child in node.get("content", []) for part in parts_of(child))]


def test_a_list_with_another_word_differs_in_one_part() -> None:
    old, new = (read_document(text)["content"][0] for text in (LIST, LIST.replace("c", "x")))

    assert differ_in_parts(old, with_id(new, "1"))
    assert not differ_in_parts(old, deepcopy(old))


def test_lists_with_other_items_differ_and_share_the_normal_forms_of_the_equal_ones() -> None:
    old, new = (read_document(text)["content"][0] for text in (LIST, "- x\n" + LIST))
    assert differ_in_parts(old, new)
    before, after = Block((old,)), Block((with_id(new, "1"),))
    assert not before.means_same_as(after)
    assert (before.normal_form, after.normal_form) == (normalize(old), normalize(new))
    assert all(map(is_, before.normal_form["content"], after.normal_form["content"][1:]))


@pytest.mark.parametrize("rule", ["| - | - |", "| :-: | - |"])
def test_tables_with_other_rows_or_columns_differ_and_share_the_normal_forms_of_the_equal_rows(rule: str) -> None:
    old, longer, wider = (
        read_document(text)["content"][0]
        for text in (f"| a | b |\n{rule}\n| c | d |\n| e | f |\n", f"| a | b |\n{rule}\n| x |\n| c | d |\n| e | f |\n",
                     f"| a | b |\n{rule}\n| c | d |\n| e | f |\n".replace("|\n", "| - |\n"))
    )  # fmt: skip
    for new in (longer, wider):
        for cell in new["content"][-1]["content"]:
            cell.pop("attrs", None)  # as apps write cells
        assert differ_in_parts(old, new)
        before, after = Block((old,)), Block((with_id(new, "1"),))
        assert not before.means_same_as(after)
        assert (before.normal_form, after.normal_form) == (normalize(old), normalize(new))
    assert not differ_in_parts(old, deepcopy(old))
    assert Block((old,)).means_same_as(Block((with_id(old, "1"),)))


def test_a_table_with_another_word_differs_without_the_normal_forms_of_its_other_rows() -> None:
    old, new = (read_document(f"| a |\n|:-:|\n| {word} |\n| d |\n")["content"][0] for word in "bc")
    before, after = Block((old,)), Block((new,))

    assert differ_in_parts(old, new)
    assert not before.means_same_as(after)
    assert (before.normal_form, after.normal_form) == (normalize(old), normalize(new))


@pytest.mark.parametrize("align", [None, "left"])
def test_tables_whose_rows_differ_in_alignment_alone_are_compared_as_a_whole(align: str | None) -> None:
    old = read_document("| a |\n|:-:|\n| b |\n")["content"][0]
    new = deepcopy(old)
    new["content"][1]["content"][0]["attrs"] = {"align": align} if align else {}

    assert not differ_in_parts(old, new)
    assert Block((old,)).means_same_as(Block((new,))) == (fingerprint(normalize(old)) == fingerprint(normalize(new)))


def test_lists_that_differ_in_their_spelling_alone_mean_the_same() -> None:
    old = read_document(LIST)["content"][0]
    new = deepcopy(old)
    for item in (new["content"][0], new["content"][2]):
        text = item["content"][0]["content"][0]["text"]
        item["content"][0]["content"] = [{"type": "text", "text": f" {text}"}, {"type": "text", "text": " "}]
    assert not differ_in_parts(old, new)
    assert Block((old,)).means_same_as(Block((new,)))


def test_an_alignment_that_the_header_gives_is_no_difference() -> None:
    table = read_document("| a |\n|:-:|\n| b |\n")["content"][0]
    bare = deepcopy(table)
    del bare["content"][1]["content"][0]["attrs"]

    assert not differ_in_parts(table, bare)
    assert Block((table,)).means_same_as(Block((bare,)))


@given(documents, st.integers(0, 2**32))
@settings(max_examples=scale_examples(100))
def test_containers_that_differ_in_parts_differ_in_meaning(document: Document, seed: int) -> None:
    chance, changed = Random(seed), deepcopy(document)
    chance.choice(parts_of(changed))["content"] = chance.choice([[], [{"type": "paragraph"}], [{"type": "hardBreak"}]])
    for old, new in zip(document.get("content", []), changed.get("content", []), strict=False):
        if differ_in_parts(old, new):
            assert fingerprint(normalize(old)) != fingerprint(normalize(new))


def changed_somewhere(document: Document, seed: int) -> Document:
    chance, changed = Random(seed), deepcopy(document)
    part = chance.choice(parts_of(changed))
    blank: list[Node] = [{"type": "text", "text": " "}]
    part["content"] = chance.choice([[], part.get("content", [])[1:], [*blank, *part.get("content", [])]])
    return changed


def meaning_of(node: Node) -> str:
    return Block((deepcopy(node),)).fingerprint


@given(documents, st.integers(0, 2**32))
@settings(max_examples=scale_examples(200))
def test_blocks_that_share_parts_keep_their_normal_forms_and_mean_the_same_where_these_are_equal(
    document: Document, seed: int
) -> None:
    changed = changed_somewhere(document, seed)
    for old, new in zip(document.get("content", []), changed.get("content", []), strict=False):
        before, after, read_back = Block((old,)), Block((new,)), Block((deepcopy(new),))
        assert before.means_same_as(after) == (meaning_of(old) == meaning_of(new))
        assert read_back.means_same_as(after)
        assert before.fingerprint == meaning_of(old)
        assert after.fingerprint == read_back.fingerprint == meaning_of(new)


def test_a_table_with_another_column_and_a_quote_with_another_paragraph_are_normalized_where_they_differ() -> None:
    table, quote = (
        read_document(text)["content"][0] for text in ("| a | b |\n|---|---|\n| c | d |\n", "> a\n>\n> b\n")
    )
    wider, longer = deepcopy(table), deepcopy(quote)
    for row in wider["content"]:
        row["content"].append({"type": row["content"][0]["type"], "content": [{"type": "paragraph"}]})
    longer["content"].append({"type": "paragraph", "content": [{"type": "text", "text": "c"}]})
    before, after = Block((table,)), Block((wider,))
    assert not before.means_same_as(after)
    rows = (before.normal_form["content"][1]["content"], after.normal_form["content"][1]["content"])
    assert all(map(is_, *rows))
    before, after = Block((quote,)), Block((longer,))

    assert not before.means_same_as(after)
    assert all(map(is_, before.normal_form["content"], after.normal_form["content"]))
