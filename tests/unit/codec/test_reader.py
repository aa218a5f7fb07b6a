import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.markdown.read.page_outline import outline_of
from mirrord.markdown.read.reader import read_document
from mirrord.markdown.schema.document import Document, is_node
from tests.unit.codec.documents import markdown

DEEP = 400


def types_of(document: Document) -> list[str]:
    return [node["type"] for node in document["content"]]


@given(st.one_of(st.text(), markdown))
def test_any_text_is_a_document(text: str) -> None:
    document = read_document(text)

    assert is_node(document)
    assert orjson.dumps(document)


@given(st.one_of(st.text(alphabet=st.sampled_from("a \t\r\n\0>-`[]:\u2028")), markdown))
def test_blocks_and_gaps_are_the_page(body: str) -> None:
    page = outline_of(body)

    inside = [page.source(index) + page.gap(index) for index in range(len(page.segments))]
    assert page.gap(-1) + "".join(inside) == body
    assert len(read_document("\n" + body)["content"]) == len(page.segments)


def test_real_pages_are_their_blocks_and_gaps(pages: list[str]) -> None:
    for page in pages:
        for text in (page, page.replace("\n", "\r\n"), "\ufeff" + page, page.rstrip("\n")):
            cut = outline_of(text)
            inside = "".join(cut.source(index) + cut.gap(index) for index in range(len(cut.segments)))
            assert cut.gap(-1) + inside == text


def test_every_reference_definition_is_a_block_of_its_own_duplicates_too() -> None:
    page = outline_of("[a]: b\n[a]: c 'd\ne'\n\n> [f]: g\n")

    assert [page.source(index) for index in range(3)] == ["[a]: b", "[a]: c 'd\ne'", "> [f]: g"]
    assert types_of(read_document(page.body)) == ["rawBlock", "rawBlock", "blockquote"]
    assert read_document(page.body)["content"][2]["content"] == [{"type": "rawBlock", "attrs": {"raw": "[f]: g"}}]


@pytest.mark.parametrize("block", ["- a", "1. a", "[^1]: a", "> a", "- a\n\n      code"])
def test_blank_lines_after_a_block_belong_to_the_gap(block: str) -> None:
    page = outline_of(f"{block}\n\n \n# b\n")

    assert (page.source(0), page.gap(0)) == (block, "\n\n \n")


@pytest.mark.parametrize("unit", ["> ", "- ", "1. "])
def test_deep_nesting_stays_raw_instead_of_losing_its_content(unit: str) -> None:
    text = unit * DEEP + "kept\n\nafter\n"

    first, *following = read_document(text)["content"]

    assert first["type"] == "rawBlock"
    assert first["attrs"]["raw"] == text[: len(str(first["attrs"]["raw"]))]
    assert "kept" in str(first)
    assert "after" in str([first, *following])


def test_deep_emphasis_stays_raw() -> None:
    text = "*a **b " * DEEP + "** c*" * DEEP

    assert read_document(text)["content"] == [{"type": "rawBlock", "attrs": {"raw": text}}]


def test_a_page_over_the_limit_is_one_opaque_block() -> None:
    text = "# a\n\n" + "b " * 1_000_001

    assert read_document(text) == {"type": "doc", "content": [{"type": "rawBlock", "attrs": {"raw": text}}]}


def test_nul_is_replaced_in_the_document_only() -> None:
    assert outline_of("a\0b").source(0) == "a\0b"
    assert read_document("a\0b")["content"][0]["content"][0]["text"] == "a\ufffdb"


@pytest.mark.parametrize(
    "link", ["javascript:x", "JavaScript:x", "java&#10;script:x", "vbscript:x", "data:text/html,x"]
)
def test_links_that_would_run_are_text(link: str) -> None:
    assert "link" not in str(read_document(f"[a](<{link}>)"))


def test_front_matter_is_not_content() -> None:
    assert types_of(read_document("\ufeff---\na: 1\n---\n# b\n")) == ["heading"]
