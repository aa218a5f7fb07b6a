"""
Forms for editors whose images are blocks, which is the default of TipTap's image, and the way back. Pure.

An image that is alone in its paragraph is a block there, every other one the text `![description](address)`.
`mirrord.with_block_images` in Postgres does the same for apps; a test holds that both agree.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from mirrord.markdown.frontmatter.yaml_reader import Json
from mirrord.markdown.parser.dialect import is_script
from mirrord.markdown.schema.block import ITEMS
from mirrord.markdown.schema.document import TEXTBLOCKS, Document, Node, make_document, text_node
from mirrord.markdown.starterkit.shown_form import string_attribute, to_starterkit

BLOCK_IMAGES_SCHEMA: Final = "starterkit-block-images"

MAX_ODD_FORMS: Final = 500  # of images whose description or address is no plain one: each is looked for everywhere
_PLAIN_FORM = re.compile(r"!\[([^\[\]\n]*)\]\(([^()\s]+)\)")


def with_block_images(form: Document) -> Document:
    """The *form* of a document for an editor with StarterKit, for one whose images are blocks."""
    return make_document([_shown(node, is_first=False) for node in form.get("content") or ()])


def _shown(node: Node, *, is_first: bool) -> Node:
    """is_first: of an item, which begins with a paragraph."""
    content = node.get("content")
    if not content or node["type"] == "codeBlock":
        return node
    if node["type"] not in TEXTBLOCKS:
        is_item = node["type"] in ITEMS
        return {**node, "content": [_shown(child, is_first=is_item and not at) for at, child in enumerate(content)]}
    if node["type"] == "paragraph" and not is_first and _is_lone_image(node, content):
        return content[0]
    return {**node, "content": [_as_text(child) for child in content]}


def _is_lone_image(paragraph: Node, content: Sequence[Node]) -> bool:
    is_plain = (paragraph.get("attrs") or {}).keys() <= {"id"}
    return is_plain and len(content) == 1 and content[0]["type"] == "image" and not content[0].get("marks")


def _as_text(node: Node) -> Node:
    return text_node(_form_of(node), node.get("marks") or ()) if node["type"] == "image" else node


def _form_of(image: Node) -> str:
    return f"![{string_attribute(image, 'alt')}]({string_attribute(image, 'src')})"


def with_inline_images(written: Document, base: Document) -> Document:
    """
    What such an editor wrote, as one with images in text would have written it. base: the document that it was shown.

    Text of the page that only looks like an image stays text.
    """
    candidates: dict[str, list[_Meaning]] = defaultdict(list)
    for form, meaning in _forms_in(to_starterkit(base).get("content") or [], in_items=False):
        candidates[form].append(meaning)
    forms = _Forms(candidates)
    counts = Counter(form for text in _texts_in(written.get("content") or ()) for form in forms.find(text))
    for form, meanings in candidates.items():
        if counts[form] != len(meanings):
            candidates[form] = [_common_meaning(meanings)]
    return {**written, "content": [_read_back(node, forms) for node in written.get("content") or ()]}


def _common_meaning(meanings: Sequence["_Meaning"]) -> "_Meaning":
    """What a form means if it cannot be told which of those it is: an image, whose other attributes show its place."""
    images = [attrs for attrs in meanings if attrs is not None]
    if not images or all(attrs == images[0] for attrs in images):
        return images[0] if images else None
    return {key: images[0][key] for key in ("src", "alt") if images[0].get(key) is not None}


_Meaning: TypeAlias = dict[str, Json] | None  # the attributes of an image; None: the form is a text that looks like one


@dataclass(frozen=True, slots=True)
class _Forms:
    """
    candidates: what each form is in the page, in order; the last one also counts for further ones.
    """

    candidates: Mapping[str, list[_Meaning]]

    def pattern(self) -> "re.Pattern[str]":
        """Finds everything that may be the form of an image."""
        odd = [form for form in self.candidates if not _PLAIN_FORM.fullmatch(form)][:MAX_ODD_FORMS]
        return re.compile("|".join([*map(re.escape, sorted(odd, key=len, reverse=True)), _PLAIN_FORM.pattern]))

    def find(self, text: str) -> Iterator[str]:
        """What may be forms of images in *text*."""
        return (match[0] for match in self.pattern().finditer(text)) if "![" in text else iter(())

    def take_image(self, form: str) -> Node | None:
        """The next image that *form* stands for; None: it is text."""
        if meanings := self.candidates.get(form):
            attrs = meanings.pop(0) if len(meanings) > 1 else meanings[0]
            return None if attrs is None else {"type": "image", "attrs": attrs}
        match = _PLAIN_FORM.fullmatch(form)
        if match is None or is_script(match[2]):
            return None
        alt: dict[str, Json] = {"alt": match[1]} if match[1] else {}
        return {"type": "image", "attrs": {"src": match[2], **alt}}


def _read_back(node: Node, forms: _Forms) -> Node:
    if node["type"] == "image":
        return {"type": "paragraph", "content": [node]}
    content = node.get("content")
    if not content or node["type"] == "codeBlock":
        return node
    if node["type"] not in TEXTBLOCKS:
        return {**node, "content": [_read_back(child, forms) for child in content]}
    pattern = forms.pattern() if any("![" in child.get("text", "") for child in content) else None
    if pattern is None:
        return node
    return {**node, "content": [part for child in content for part in _split(child, forms, pattern)]}


def _split(node: Node, forms: _Forms, pattern: "re.Pattern[str]") -> Iterator[Node]:
    """The texts and images that a text stands for."""
    marks, text, end = node.get("marks") or [], node.get("text", ""), 0
    if "![" not in text or {"type": "code"} in marks:
        yield node
        return
    for match in pattern.finditer(text):
        image = forms.take_image(match[0])
        if image is None:
            continue
        if match.start() > end:
            yield text_node(text[end : match.start()], marks)
        yield {**image, "marks": marks} if marks else image
        end = match.end()
    if end < len(text):
        yield text_node(text[end:], marks)


def _forms_in(content: Sequence[Node], *, in_items: bool) -> Iterator[tuple[str, _Meaning]]:
    """What is shown as the form of an image, or looks like one. in_items: *content* is that of an item."""
    for at, node in enumerate(content):
        children = node.get("content") or []
        if node["type"] == "codeBlock":
            continue
        if node["type"] not in TEXTBLOCKS:
            yield from _forms_in(children, in_items=node["type"] in ITEMS)
        elif node["type"] == "heading" or (in_items and not at) or not _is_lone_image(node, children):
            for child in children:
                yield from _forms_of(child)


def _forms_of(node: Node) -> Iterator[tuple[str, _Meaning]]:
    if node["type"] == "image":
        yield _form_of(node), node.get("attrs") or {}
    for text in _texts_in([node]):
        yield from ((match[0], None) for match in _PLAIN_FORM.finditer(text))


def _texts_in(content: Iterable[Node]) -> Iterator[str]:
    for node in content:
        if "text" in node and {"type": "code"} not in (node.get("marks") or ()):
            yield node["text"]
        if node["type"] != "codeBlock":
            yield from _texts_in(node.get("content") or ())
