"""
A second opinion on Markdown: cmark-gfm, in which the codec has no part.

It follows CommonMark 0.29, whose punctuation has no currency signs, and never puts bold text into bold text.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from html import escape
from html.parser import HTMLParser

from cmarkgfm.cmark import Options, markdown_to_html_with_extensions

Html = Callable[[str], str]

_EXTENSIONS = ("table", "strikethrough", "autolink", "tagfilter", "tasklist")
_SEPARATOR = "<!-- -->\n"  # shows nothing
_BREAK = re.compile(r"<br ?/?>\n?")
_IMAGE = re.compile(r"<img [^<>]*>")
_BOX = re.compile(r'(<input type="checkbox"[^>]*/>) \n<p>')
_BARE_BOX = re.compile(r"^([ \t>]*(?:[-+*]|\d{1,9}[.)])[ \t]+\[[ xX]\])$", re.MULTILINE)
_EMPTY_LINE_OF_CODE = re.compile(r"(<pre[^>]*><code[^>]*>)\n(?=</code>)")
_TAG = re.compile(r"(</?(?:li|p|ul|ol|pre|blockquote|h[1-6]|table|div)(?:\s[^>]*)?>|<hr />)")


class Verdict(Enum):
    """How two pages compare. SPACING: but for blank lines between the items of lists."""

    SAME = "same"
    SPACING = "spacing"
    DIFFERENT = "different"


def commonmark_html(markdown: str) -> str:
    """As CommonMark has it."""
    return str(markdown_to_html_with_extensions(markdown, Options.CMARK_OPT_UNSAFE, []))


def gfm_html(markdown: str) -> str:
    """As GitHub has it."""
    return str(markdown_to_html_with_extensions(markdown, Options.CMARK_OPT_UNSAFE, _EXTENSIONS))


def document_html(markdown: str) -> str:
    """
    As GitHub has it, but for two things that documents have one form for.

    A box without a text is a task, also without the blank that GitHub wants behind it; and of code that is one empty
    line a document says what it says of empty code.
    """
    return _EMPTY_LINE_OF_CODE.sub(r"\1", gfm_html(_BARE_BOX.sub(r"\1 ", markdown)))


def verdict(first: str, other: str) -> Verdict:
    """Of two pages of HTML."""
    first, other = plain(first), plain(other)
    if first == other:
        return Verdict.SAME
    return Verdict.SPACING if loose(first) == loose(other) else Verdict.DIFFERENT


def plain(html: str) -> str:
    """
    *html* without the comment that keeps two lists apart, and with all line breaks written alike.

    Images are written alike, too: the attributes of a tag have no order, and quotes only where they are needed. An
    empty description is left out, which a tag need not have, and Markdown always has.
    """
    return _BREAK.sub("<br />", _IMAGE.sub(_plain_image, html.replace(_SEPARATOR, "")))


def _plain_image(tag: re.Match[str]) -> str:
    reader = _ImageReader()
    reader.feed(tag[0])
    attributes = sorted((name, value) for name, value in reader.attributes if (name, value) != ("alt", ""))
    return f"<img {' '.join(f'{name}={escape(value)!r}' for name, value in attributes)} />"


class _ImageReader(HTMLParser):
    """The attributes of a tag."""

    def __init__(self) -> None:
        super().__init__()
        self.attributes: Sequence[tuple[str, str]] = ()

    def handle_starttag(self, _tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        """Also of a tag that ends with a slash."""
        self.attributes = [(name, value or "") for name, value in attrs]


def loose(html: str) -> str:
    """*html* with every item's text in a paragraph, and no white space between blocks."""
    return "".join(_loosened(_BOX.sub(r"<p>\1 ", html)))


def _loosened(html: str) -> Iterator[str]:
    open_tags: list[str] = []
    for piece in _TAG.split(html):
        if not _TAG.fullmatch(piece):
            bare = piece.strip("\n") if open_tags[-1:] != ["pre"] else piece
            if bare:
                yield f"<p>{bare}</p>" if open_tags[-1:] == ["li"] else bare
            continue
        name = piece.strip("</>").split()[0]
        if piece.startswith("</"):
            if open_tags[-1:] == [name]:
                open_tags.pop()
        elif name != "hr":
            open_tags.append(name)
        yield piece
