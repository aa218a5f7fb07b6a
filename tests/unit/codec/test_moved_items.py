"""Items that change their list, as by Tab and Shift+Tab, take their lines along."""

import pytest

from mirrord.markdown.read.reader import read_document
from mirrord.markdown.schema.document import Document, Node
from mirrord.markdown.write.render import splice_document


def indent(document: Document, at: int) -> None:
    """Tab is pressed in an item of the list that the page begins with."""
    outer = document["content"][0]
    item, above = outer["content"].pop(at), outer["content"][at - 1]["content"]
    if above[-1]["type"] == outer["type"]:
        above[-1]["content"].append(item)
    else:
        above.append({"type": outer["type"], "content": [item]})


def outdent(document: Document, at: int) -> None:
    """Shift and Tab are pressed in the last item below an item of the list that the page begins with."""
    outer = document["content"][0]["content"]
    inner: Node = outer[at]["content"][-1]
    outer.insert(at + 1, inner["content"].pop())
    if not inner["content"]:
        outer[at]["content"].pop()


@pytest.mark.parametrize(
    ("text", "at", "written"),
    [
        ("-   a\n-   b\n-   c\n", 2, "-   a\n-   b\n    -   c\n"),
        ("- a\n- [http://x.y](http://x.y)\n- c\n", 1, "- a\n  - [http://x.y](http://x.y)\n- c\n"),
        ("- a &lt;b>\n- __c__\n", 1, "- a &lt;b>\n  - __c__\n"),
        ("+ a\n+ b\n\n* * *\n\n- x\n- y\n", 1, "+ a\n  + b\n\n* * *\n\n- x\n- y\n"),
        ("- [ ] a\n- [X] b &amp; c\n", 1, "- [ ] a\n  - [X] b &amp; c\n"),
        ("- a\n  - b\n- [u](u)\n", 1, "- a\n  - b\n  - [u](u)\n"),
        ("- a\n- b\n  ```\n  x\n  ```\n", 1, "- a\n  - b\n    ```\n    x\n    ```\n"),
        ("- a\n- b\n  * __c__\n- d\n", 1, "- a\n  - b\n    * __c__\n- d\n"),
        ("-\n- b\n- d\n", 1, "-\n  - b\n- d\n"),
        ("*\n* b\n", 1, "*\n  * b\n"),
        ("1.\n2. b\n", 1, "1.\n   1. b\n"),
    ],
)
def test_an_indented_item_keeps_its_spelling(text: str, at: int, written: str) -> None:
    document = read_document(text)
    indent(document, at)

    assert splice_document(text, document, "\n") == written


@pytest.mark.parametrize(
    ("text", "at", "written"),
    [
        ("* a\n  * [http://x.y](http://x.y)\n", 0, "* a\n* [http://x.y](http://x.y)\n"),
        ("* a\n    + b\n    + __c__\n* d\n", 0, "* a\n    + b\n* __c__\n* d\n"),
        ("1. a\n   1. b &lt;\n2. c\n", 0, "1. a\n2. b &lt;\n2. c\n"),
    ],
)
def test_an_outdented_item_keeps_its_text_and_takes_the_sign_of_its_new_list(text: str, at: int, written: str) -> None:
    document = read_document(text)
    outdent(document, at)

    assert splice_document(text, document, "\n") == written


def test_a_word_that_changes_while_its_item_moves_is_written() -> None:
    text = "- a\n- [http://x.y](http://x.y) b\n"
    document = read_document(text)
    document["content"][0]["content"][1]["content"][0]["content"][1]["text"] = " changed"
    indent(document, 1)

    assert splice_document(text, document, "\n") == "- a\n  - <http://x.y> changed\n"
