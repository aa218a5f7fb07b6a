"""Pages that every checkout has, with other line endings, blanks and tabs, and whatever else may come as a file."""

import random

import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.page_text import PageText, decode
from mirrord.markdown.read.reader import read_document
from mirrord.markdown.schema.document import Document
from mirrord.markdown.write.render import NewViews, render
from mirrord.markdown.write.stored_form import values_to_store
from tests.bench.codec.edits import KINDS, edit
from tests.bench.codec.trials import outcome_of
from tests.bench.codec.untouched import joined
from tests.corpora import VARIANTS
from tests.support.laws import scale_examples
from tests.unit.codec.documents import documents, markdown

DEEP = 1_000
BOTH = st.one_of(st.text(), markdown)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_page_is_its_parts(own_pages: list[str], variant: str) -> None:
    texts = [VARIANTS[variant](page) for page in own_pages]

    assert [text for text in texts if joined(text) != text] == []
    assert len(texts) > 15


@pytest.mark.parametrize("variant", VARIANTS)
def test_content_that_did_not_change_leaves_every_byte(own_pages: list[str], variant: str) -> None:
    for page in own_pages:
        text = VARIANTS[variant](page)
        new_views = NewViews(None, None, None, None, None, content=read_document(text))
        assert render(PageText(text), frozenset(["content"]), new_views, stem="Page").text == text


@pytest.mark.parametrize("kind", KINDS)
def test_a_random_edit_says_what_was_wanted_and_leaves_every_other_block(own_pages: list[str], kind: str) -> None:
    edit_count = 0
    for seed, page in enumerate(own_pages):
        chance = random.Random(seed)
        text = VARIANTS[chance.choice(list(VARIANTS))](page)
        foreign = read_document(chance.choice(own_pages))["content"]
        if change := edit(kind, read_document(text)["content"], foreign, chance):
            outcome = outcome_of(kind, text, change)
            assert outcome.wrong == "", f"{seed}: {outcome}"
            edit_count += not outcome.refusal
    assert edit_count


@settings(max_examples=scale_examples(60))
@example("[^q]: n\n[^q]: n\n", "change a block", {"type": "doc", "content": []}, 0)
@example("a\n- ```\n> \n\n", "move a block", {"type": "doc", "content": []}, 1)
@example("[^q]: n\n", "insert a block", {"type": "doc", "content": read_document("> [!note]\n> [^q]\n")["content"]}, 1)
@example("[^q]: n\na\n> [^q]:a", "change a block", {"type": "doc", "content": []}, 0)
@example("a[^q]:", "insert a block", read_document('[^q]:\n    <!-- tiptap {"textAlign":"center"} -->\n    a\n'), 1)
@given(markdown, st.sampled_from(list(KINDS)), documents, st.integers(0, 10**6))
def test_a_random_edit_of_anything_does_so_too(text: str, kind: str, foreign: Document, seed: int) -> None:
    if change := edit(kind, read_document(text)["content"], foreign["content"], random.Random(seed)):
        assert outcome_of(kind, text, change).wrong == ""


@given(st.one_of(st.binary(), BOTH.map(str.encode)))
def test_any_bytes_are_their_parts_or_no_text(data: bytes) -> None:
    try:
        text = decode(data)
    except Damaged:
        return

    assert joined(text).encode() == data
    assert orjson.loads(values_to_store(text, None)[0])["type"] == "doc"


@pytest.mark.parametrize(
    "unit", ["> - ", "1. > ", "- [ ] ", "[", "![", "**", "*a **b ", "==a[", "<u>", "<div>\n", "[[", "|"]
)
def test_deep_nesting_keeps_its_bytes_and_what_comes_after(unit: str) -> None:
    text = unit * DEEP + "x\n\n# after\n"

    assert joined(text) == text
    assert b"after" in values_to_store(text, None)[0]
