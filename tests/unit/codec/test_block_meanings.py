"""Whether two blocks differ is found without the normal forms of what is equal in them, and never wrongly."""

from copy import deepcopy
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from mirrord.markdown.read.reader import read_document
from mirrord.markdown.schema.block import Block, differ_in_one_part, with_id
from mirrord.markdown.schema.document import Document, Node
from mirrord.markdown.schema.normal_form import fingerprint, normalize
from tests.unit.codec.documents import documents

LIST = "- a\n- b\n    - c\n    - d\n- e\n"


def parts_of(node: Node) -> list[Node]:
    return [node, *(part for child in node.get("content", []) for part in parts_of(child))]


def test_a_list_with_another_word_differs_in_one_part() -> None:
    old, new = (read_document(text)["content"][0] for text in (LIST, LIST.replace("c", "x")))

    assert differ_in_one_part(old, with_id(new, "1"))
    assert not differ_in_one_part(old, deepcopy(old))


def test_an_alignment_that_the_header_gives_is_no_difference() -> None:
    table = read_document("| a |\n|:-:|\n| b |\n")["content"][0]
    bare = deepcopy(table)
    del bare["content"][1]["content"][0]["attrs"]

    assert not differ_in_one_part(table, bare)
    assert Block((table,)).means_same_as(Block((bare,)))


@given(documents, st.integers(0, 2**32))
@settings(max_examples=100)
def test_containers_that_differ_in_one_part_differ_in_meaning(document: Document, seed: int) -> None:
    chance, changed = Random(seed), deepcopy(document)
    chance.choice(parts_of(changed))["content"] = chance.choice([[], [{"type": "paragraph"}], [{"type": "hardBreak"}]])
    for old, new in zip(document.get("content", []), changed.get("content", []), strict=False):
        if differ_in_one_part(old, new):
            assert fingerprint(normalize(old)) != fingerprint(normalize(new))
