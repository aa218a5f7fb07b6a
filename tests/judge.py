"""
A second opinion on Markdown: cmark-gfm, in which the codec has no part.

It follows CommonMark 0.29, whose punctuation has no currency signs, and never puts bold text into bold text.
"""

import re
from collections.abc import Callable, Iterator
from enum import Enum

from cmarkgfm.cmark import Options, markdown_to_html_with_extensions

Html = Callable[[str], str]

_EXTENSIONS = ("table", "strikethrough", "autolink", "tagfilter", "tasklist")
_SEPARATOR = "<!-- -->\n"  # shows nothing
_BREAK = re.compile(r"<br ?/?>\n?")
_IMAGE_END = re.compile(r"(<img [^<>]*?) ?/>")
_BOX = re.compile(r'(<input type="checkbox"[^>]*/>) \n<p>')
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


def verdict(first: str, other: str) -> Verdict:
    """Of two pages of HTML."""
    first, other = plain(first), plain(other)
    if first == other:
        return Verdict.SAME
    return Verdict.SPACING if loose(first) == loose(other) else Verdict.DIFFERENT


def plain(html: str) -> str:
    """
    *html* without the comment that keeps two lists apart, and with all line breaks written alike.

    An image without a description is written alike, too: a tag need not have an empty one, and Markdown always has.
    """
    without_alt = html.replace(_SEPARATOR, "").replace(' alt=""', "")
    return _BREAK.sub("<br />", _IMAGE_END.sub(r"\1 />", without_alt))


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
