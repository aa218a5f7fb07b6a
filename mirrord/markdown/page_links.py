"""The links of a page and where they stand."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn
from urllib.parse import unquote

from markdown_it.helpers import parseLinkDestination, parseLinkTitle

from mirrord.domain.dialect import Dialect
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.html_links import (
    MAY_HAVE_TAG,
    TAG,
    TagTarget,
    possible_targets_in_tags,
    target_of_tag,
    targets_in_html,
    value_span,
)
from mirrord.markdown.logseq_tags import TAG_OF_LOGSEQ, is_tag_at, possible_tags_in
from mirrord.markdown.parser.dialect import MAX_NESTING, WIKILINK
from mirrord.markdown.parser.foreign_syntax import PROPERTIES
from mirrord.markdown.read.page_outline import Region, regions_of

_TOKEN = re.compile(
    rf"(?P<tag>{TAG})|"
    rf"""(?P<skip>\\. | <!--(?:(?!<!--).)*?--> | <[A-Za-z/?!][^<>]*> | %%.+?%%)
    | (?P<ticks>`+)
    | (?P<wiki>!?\[\[[^\[\]\n]+\]\])
    | (?P<opening>!?\[)
    | (?P<closing>\])
    | (?P<hash>{TAG_OF_LOGSEQ})""",
    re.VERBOSE | re.DOTALL,
)
_DEFINITION = re.compile(r"[ \t>]*\[(?:\\.|[^\[\]\\])+\]:\s*", re.DOTALL)
_INSIDE_WIKILINK = re.compile(
    r"\[\[([^\[\]|#\n]++)[^\[\]\n]*+\]\]"
)  # starts with literal text, which is searched for quickly
_BEFORE_DESTINATION = re.compile(r"\]\([ \t\r\n]*|\]:\s*")
_TICKS = re.compile(r"`+")
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*$", re.MULTILINE)
_ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_BLOCK_OF_LOGSEQ = re.compile(r"\(\([0-9A-Za-z-]{6,60}\)\)")
_BLANKS = " \t\r\n"


@dataclass(frozen=True, slots=True)
class Link:
    """
    A link in a text.

    kind: wikilink, embed, markdown or image; a reference definition is markdown.
    A tag of Logseq is a wikilink that begins with `#`.

    target: the linked path or name, percent-decoded in Markdown links; "" is the page itself.
    heading: the text after `#`, `^id` for a block; None without `#`.
    alias: the raw label; None if the link has none of its own.
    start, end: code points of the whole text, from the first bracket to after the last; of a tag, its attribute.
    """

    kind: str
    target: str
    heading: str | None
    alias: str | None
    start: int
    end: int


def links_of(page: PageText, within: Sequence[Region] = (), addresses: re.Pattern[str] | None = None) -> list[Link]:
    """
    The links within the mirror, in order; none in code and comments, and none with a scheme or `//`.

    `<a href>` counts as a Markdown link, `<img src>` as an image; in a block of HTML there are no others.

    within: the regions of the body, if the caller has them. addresses: what links with a scheme or `//` have to match
    to be among them; None: none is.
    """
    text, body = page.text, page.body
    offset = len(text) - len(body)
    result = list(_links_in_properties(text, offset))
    has_tags = page.dialect is Dialect.LOGSEQ
    if not _may_have_links(body, 0, len(body), has_tags):
        return result
    for region in within or regions_of(body, page.dialect):
        start, end = offset + region.start, offset + region.end
        if not _may_have_links(text, start, end, has_tags):
            continue
        if region.kind in ("inline", PROPERTIES):
            links = _Scan(text, end, addresses, has_tags).scan_links(start)
            result += _links_of_logseq(text, links) if has_tags else links
        elif region.kind == "definition":
            result += _links_in_definition(text, start, end, addresses)
        elif region.kind == "html_block":
            for target in targets_in_html(text, start, end):
                result += _links_of_tag(target, addresses)
    return sorted(result, key=lambda link: link.start)


def _may_have_links(text: str, start: int, end: int, has_tags: bool) -> bool:
    has_sign = text.find("[", start, end) >= 0 or (has_tags and text.find("#", start, end) >= 0)
    return has_sign or MAY_HAVE_TAG.search(text, start, end) is not None


def _links_of_logseq(text: str, links: Iterable[Link]) -> Iterator[Link]:
    """*links* without the tags inside of others, as a link holds no other link, and without labels of blocks."""
    end = 0
    for link in sorted(links, key=lambda link: link.start):
        is_apart = link.start >= end or not is_tag_at(text, link.start)
        if is_apart and not _BLOCK_OF_LOGSEQ.fullmatch(link.target):
            yield link
        end = max(end, link.end)


def _links_of_tag(target: TagTarget, addresses: re.Pattern[str] | None) -> Iterator[Link]:
    return _links_to(target.kind, target.value, None, (target.start, target.end), addresses)


def possible_targets_of(text: str, dialect: Dialect = Dialect.PLAIN) -> Iterator[tuple[str, str]]:
    """Kind and target of all that links_of() may find, and of links in code too. Many times faster."""
    if dialect is Dialect.LOGSEQ:
        yield from (("wikilink", name) for name in possible_tags_in(text))
    for match in _INSIDE_WIKILINK.finditer(text):
        yield "wikilink", match[1]
        if match[1].endswith("\\"):
            yield "wikilink", match[1][:-1]  # the bar of a table's row is escaped
    for value in possible_targets_in_tags(text):
        yield from ((link.kind, link.target) for link in _links_to("markdown", value, None))
    for match in _BEFORE_DESTINATION.finditer(text):
        target = parseLinkDestination(text, match.end(), len(text))
        if target.ok:
            yield from ((link.kind, link.target) for link in _links_to("markdown", target.str, None) if link.target)


def target_span(text: str, link: Link) -> tuple[int, int]:
    """The span of the target of a link in *text*; for a Markdown link the whole destination with its angles."""
    if span := value_span(text, link.start, link.end):
        return span
    if is_tag_at(text, link.start):
        return link.start + 1, link.end
    if link.kind in ("wikilink", "embed"):
        match = WIKILINK.fullmatch(text, link.start, link.end)
        start = (match or _refuse_link(link)).start(2)
        blanks = len(text[start : link.end]) - len(text[start : link.end].lstrip(_BLANKS))
        return start + blanks, start + len(link.target.rstrip(_BLANKS))
    if link.alias is None:
        return (_DEFINITION.match(text, link.start, link.end) or _refuse_link(link)).end(), link.end
    start = link.start + len("![" if link.kind == "image" else "[") + len(link.alias) + len("](")
    while text[start] in _BLANKS:
        start += 1
    return start, parseLinkDestination(text, start, link.end).pos


def _refuse_link(link: Link) -> NoReturn:
    raise ValueError(f"there is no {link.kind} at this place")


def _links_in_properties(text: str, end: int) -> Iterator[Link]:
    source = _COMMENT.sub(lambda match: " " * len(match.group()), text[:end])
    for match in WIKILINK.finditer(source):
        yield from _links_of_wikilink(match)


def _links_in_definition(text: str, start: int, end: int, addresses: re.Pattern[str] | None) -> Iterator[Link]:
    match = _DEFINITION.match(text, start, end)
    target = parseLinkDestination(text, match.end(), end) if match else None
    if match and target and target.ok:
        first = start + len(match.group()) - len(match.group().lstrip(_BLANKS + ">"))
        yield from _links_to("markdown", target.str, None, (first, target.pos), addresses)


def _links_of_wikilink(match: re.Match[str]) -> Iterator[Link]:
    target, heading, alias = match[2], match[3], match[4]
    if alias is not None:  # in a table the bar is escaped
        target = target.removesuffix("\\")
        heading = heading.removesuffix("\\") if heading is not None else None
    if target or heading:
        yield Link("embed" if match[1] else "wikilink", target, heading, alias, *match.span())


def _links_to(
    kind: str,
    target: str,
    alias: str | None,
    span: tuple[int, int] = (0, 0),
    addresses: re.Pattern[str] | None = None,
) -> Iterator[Link]:
    """The link to *target* if that is within the mirror, or one of *addresses*."""
    is_elsewhere = not target or _ELSEWHERE.match(target) is not None
    if not is_elsewhere or (addresses is not None and addresses.match(target)):
        path, mark, heading = target.partition("#")
        yield Link(kind, unquote(path), unquote(heading) if mark else None, alias, *span)


class _Scan:
    """
    One pass over running text, with the open brackets.

    A link holds no other link: at the end of one, brackets still open are text, except those of pictures.
    """

    def __init__(self, text: str, end: int, addresses: re.Pattern[str] | None, has_tags: bool) -> None:
        self.text, self.end, self.addresses, self.has_tags = text, end, addresses, has_tags
        self.brackets: list[re.Match[str]] = []
        self.pictures: list[re.Match[str]] = []
        self.last_ticks: dict[int, int] = {}  # start of the last run of backticks, by its length

    def scan_links(self, position: int) -> Iterator[Link]:
        while token := _TOKEN.search(self.text, position, self.end):
            position = token.end()
            if token["tag"]:
                if target := target_of_tag(self.text, *token.span()):
                    yield from _links_of_tag(target, self.addresses)
            elif token["ticks"]:
                position = self.skip_code(token)
            elif token["wiki"]:
                wikilink = WIKILINK.fullmatch(self.text, *token.span())
                yield from self.close_wikilink(wikilink) if wikilink else ()
            elif token["hash"]:
                yield from self.read_tag(token)
            elif token["opening"]:
                (self.pictures if token.group() == "![" else self.brackets).append(token)
            elif token["closing"] and (opening := self.pop_innermost()):
                destination = self.read_target(position)
                if destination and len(self.pictures) < MAX_NESTING:
                    yield from self.close_link(opening, token.start(), *destination)
                    position = destination[1]

    def close_wikilink(self, wikilink: re.Match[str]) -> Iterator[Link]:
        if not wikilink[1]:
            self.brackets.clear()
        return _links_of_wikilink(wikilink)

    def read_tag(self, token: re.Match[str]) -> Iterator[Link]:
        if self.has_tags:
            yield Link("wikilink", token.group()[1:], None, None, *token.span())

    def pop_innermost(self) -> re.Match[str] | None:
        """The bracket that the next closing bracket closes."""
        is_picture = self.pictures and (not self.brackets or self.pictures[-1].start() > self.brackets[-1].start())
        still_open = self.pictures if is_picture else self.brackets
        return still_open.pop() if still_open else None

    def skip_code(self, ticks: re.Match[str]) -> int:
        if not self.last_ticks:
            self.last_ticks = {
                len(run.group()): run.start() for run in _TICKS.finditer(self.text, ticks.start(), self.end)
            }
        if self.last_ticks.get(len(ticks.group()), 0) <= ticks.start():
            return ticks.end()
        runs = _TICKS.finditer(self.text, ticks.end(), self.end)
        return next(run.end() for run in runs if len(run.group()) == len(ticks.group()))

    def read_target(self, position: int) -> tuple[str, int] | None:
        """The destination in parentheses at *position*, and their end; None if there is none."""
        if not self.text.startswith("(", position, self.end):
            return None
        destination = parseLinkDestination(self.text, self.skip_blanks(position + 1), self.end)
        if not destination.ok:
            return None
        after = self.skip_blanks(destination.pos)
        hint = parseLinkTitle(self.text, after, self.end) if after > destination.pos else None
        if hint and hint.ok:
            after = self.skip_blanks(hint.pos)
        return (destination.str, after + 1) if self.text.startswith(")", after, self.end) else None

    def skip_blanks(self, position: int) -> int:
        while position < self.end and self.text[position] in _BLANKS:
            position += 1
        return position

    def close_link(self, opening: re.Match[str], close: int, target: str, end: int) -> Iterator[Link]:
        alias = self.text[opening.end() : close]
        image = opening.group() == "!["
        yield from _links_to("image" if image else "markdown", target, alias, (opening.start(), end), self.addresses)
        if not image:
            self.brackets.clear()
