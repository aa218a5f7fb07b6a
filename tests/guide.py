"""docs/tiptap.md and the examples in it: Markdown and the document it is, in pairs."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from mirrord.markdown.schema.document import Document, make_document

GUIDE = (Path(__file__).parents[1] / "docs" / "tiptap.md").read_text(encoding="utf-8")
_PAIR = re.compile(r"^(`{3,})markdown\n(.*?)^\1\n\n```json\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


def examples() -> Iterator[tuple[str, Document]]:
    """Every example of the guide."""
    for _, text, content in _PAIR.findall(GUIDE):
        yield text, make_document(json.loads(content))


def name_of(text: str) -> str:
    """What an example is called in reports."""
    return text.split("\n")[0][:20]
