"""
Render the Markdown of a page after an app changed some of its views; every other byte stays.

Where only texts of a block changed, only they are replaced; else the block is written in place. The whole result is
compared with the wanted blocks, and read again wherever its meaning may have changed; no result is returned unverified.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from types import MappingProxyType

from markdown_it.token import Token

from mirrord.domain.dialect import Dialect
from mirrord.errors import ContentLost, Damaged
from mirrord.markdown.frontmatter.page_properties import (
    REMOVED,
    Json,
    Removed,
    Views,
    with_keys,
)
from mirrord.markdown.frontmatter.page_text import PageText, first_line_ending, split_lines
from mirrord.markdown.inline.source_style import Style, usual_style_of
from mirrord.markdown.parser.dialect import Surroundings
from mirrord.markdown.read.known_readings import LATEST_READINGS
from mirrord.markdown.read.page_outline import outline_of
from mirrord.markdown.read.reparse import Reading, read_after_edit, read_whole
from mirrord.markdown.schema.block import Block, blocks_of
from mirrord.markdown.schema.document import Document, Node, check_document, make_document
from mirrord.markdown.schema.normal_form import first_difference, normalize
from mirrord.markdown.schema.task_lists import with_task_lists
from mirrord.markdown.write.block_merge import Effort, Setting, rearrange_blocks
from mirrord.markdown.write.block_parts import Line, Spacing, SplitLines, split_page
from mirrord.markdown.write.content_losses import LossLimits, find_loss
from mirrord.markdown.write.foreign_marks import mark_foreign_syntax
from mirrord.markdown.write.former_lines import former_lines

_LADDERS = (  # each is tried on the original page, then on the result of that: definitions may have changed
    ((Effort.CHANGED_PARTS, Spacing.UNCHANGED), *((Effort.CHANGED_PARTS_VERIFIED, spacing) for spacing in Spacing)),
    ((Effort.WHOLE_CONTAINER, Spacing.SEPARATE),),
)


@dataclass(frozen=True, slots=True)
class _Page:
    """
    reading: of the page with LF for every line ending. endings: of each line of the cut; "" for a last one without.
    habit: its usual style. former_lines: of blocks that it had before, by fingerprint.
    """

    reading: Reading
    cut: SplitLines
    endings: Sequence[str]
    habit: Style
    former_lines: Mapping[str, Sequence[str]] = field(default_factory=dict)


def splice_document(
    body: str,
    new_document: Document,
    ending: str,
    former: Mapping[str, Sequence[str]] = MappingProxyType({}),
    *,
    limits: LossLimits | None = None,
    dialect: Dialect = Dialect.PLAIN,
) -> str:
    """
    *body* with the blocks of *new_document*; unchanged ones keep their bytes and the gaps between them.

    So do unchanged list items, table rows, and blocks in quotes, callouts, footnotes and items.
    New lines end with *ending*. former: the lines of blocks that the body had before, by fingerprint. limits: of
    what it may remove; None: all is meant. dialect: its syntax stays raw, also where a person typed it as text.

    Raises:
        ContentLost: it is not confirmed, and removes what a person may not have removed.
        Damaged: Markdown cannot hold the wanted blocks, or not beside the unchanged ones.
    """
    page, after = (
        replace(_open_page(body, dialect), former_lines=former),
        _non_empty_blocks(new_document.get("content") or []),
    )
    bare = normalize({**new_document, "content": []})
    if bare.keys() != {"type"}:
        raise Damaged(f"the change would lose {first_difference(bare, make_document([]))}: a page has no place for it")
    if _mean_the_same([part.block for part in page.cut.parts], after):
        return body
    if limits is not None:
        _check_losses([part.block for part in page.cut.parts], after, limits)
    try:
        return _splice_blocks(page, after, ending)
    except Damaged:
        as_read = with_task_lists(mark_foreign_syntax(new_document.get("content") or [], dialect))
        marked = _non_empty_blocks(as_read)
        if _mean_the_same(marked, after):
            raise
        return _splice_blocks(page, marked, ending)


def _splice_blocks(page: _Page, after: Sequence[Block], ending: str) -> str:
    read_blocks: list[Block] = []
    for result in _candidate_pages(page, after, ending):
        reading = _read_back(page, result)
        read_blocks = [block for block in reading.blocks if not block.is_empty]
        if _mean_the_same(read_blocks, after):
            LATEST_READINGS.remember(reading)
            return result
    lost_path = first_difference(
        *(make_document([block.normal_form for block in blocks]) for blocks in (after, read_blocks))
    )
    raise Damaged(f"the change would lose {lost_path}: Markdown cannot hold it beside the blocks around it")


def _check_losses(old: Sequence[Block], new: Sequence[Block], limits: LossLimits) -> None:
    """Raise ContentLost if a person may not have removed what is in *old* and not in *new*."""
    old_nodes, new_nodes = ([node for block in blocks for node in block.nodes] for blocks in (old, new))
    loss = find_loss(old_nodes, new_nodes, limits)
    if loss is not None:
        raise ContentLost(f"in the content that an app wrote {loss}")


def _non_empty_blocks(content: Sequence[Node]) -> list[Block]:
    """The non-empty blocks of a document."""
    return [block for block in blocks_of(content) if not block.is_empty]


def _mean_the_same(old: Sequence[Block], new: Sequence[Block]) -> bool:
    return len(old) == len(new) and all(map(Block.means_same_as, old, new))


def _open_page(body: str, dialect: Dialect) -> _Page:
    body_lines = split_lines(body)
    texts = [line.rstrip("\r\n") for line in body_lines]
    unix_body = "\n".join(texts if body_lines[-1:] == texts[-1:] else [*texts, ""])
    reading = LATEST_READINGS.recall(unix_body, dialect) or read_whole(unix_body, dialect)
    page = reading.outline or outline_of(unix_body, Surroundings(dialect=dialect))
    cut = split_page(texts, page, reading.blocks)
    habit = usual_style_of([token for part in cut.parts for token in part.tokens])
    if dialect is Dialect.OBSIDIAN:
        habit = replace(habit, size_in_alt=True)
    return _Page(reading, cut, [line[len(text) :] for line, text in zip(body_lines, texts, strict=True)], habit)


def _read_back(page: _Page, result: str) -> Reading:
    """The reading of *result*; blocks shared with *page* are parsed again only if their meaning may have changed."""
    return read_after_edit(page.reading, result, _parsed_texts(page)) or read_whole(
        result, page.cut.surroundings.dialect
    )


def _parsed_texts(page: _Page) -> Mapping[str, list[Token]]:
    """The tokens in the texts of *page*, by content."""
    tokens = chain.from_iterable(part.tokens for part in page.cut.parts)
    return {token.content: token.children for token in tokens if token.type == "inline" and token.children}


def _candidate_pages(page: _Page, after: Sequence[Block], ending: str) -> Iterator[str]:
    """Candidates for the wanted page, all distinct, the most likely first."""
    likeliest = _arrange_page(page, after, Effort.FIRST_SPELLING, Spacing.UNCHANGED, ending)
    yield likeliest
    tried = {likeliest}
    for ladder in _LADDERS:
        start: _Page | None = page
        for _ in range(2):
            if start is None:
                break
            results: list[str] = []
            for effort, spacing in ladder:
                results.append(result := _arrange_page(start, after, effort, spacing, ending))
                if result not in tried:
                    tried.add(result)
                    yield result
            start = _first_fitting(results, len(after), start.cut.surroundings.dialect)


def _first_fitting(results: Sequence[str], count: int, dialect: Dialect) -> _Page | None:
    """The first of *results*, the closest to the page before, that has *count* blocks."""
    pages = (_open_page(result, dialect) for result in dict.fromkeys(results))
    return next((page for page in pages if len(page.cut.parts) == count), None)


def _arrange_page(page: _Page, after: Sequence[Block], effort: Effort, spacing: Spacing, ending: str) -> str:
    setting = Setting(page.cut.surroundings, page.habit, effort, former_lines=page.former_lines)
    result = rearrange_blocks(page.cut, after, setting, spacing)
    output_lines: list[str] = []
    for line in result:
        line_end = _ending_of_line(page, line, ending)
        if not line.text and line_end == "\n" and output_lines and output_lines[-1].endswith("\r"):
            line_end = "\r"  # `\r\n` would be a single line ending
        output_lines.append(line.text + line_end)
    if after and page.cut.parts and page.endings[-1] == "":
        output_lines[-1] = result[-1].text
    return "".join(output_lines)


def _ending_of_line(page: _Page, line: Line, ending: str) -> str:
    number = line.replaced if line.at is None else line.at
    return (page.endings[number] if number is not None else "") or ending


@dataclass(frozen=True, slots=True)
class NewViews:
    """
    The views in the row. None: remove the key, no front matter, an empty body.

    is_checked: whether the content is known to consist of nodes.
    """

    id: str | None
    title: str | None
    icon: str | None
    position: str | None
    frontmatter: dict[str, Json] | None
    content: Document | None
    is_checked: bool = False


def render(
    page: PageText,
    ahead: frozenset[str],
    new_views: NewViews,
    stem: str,
    former: Sequence[str] = (),
    *,
    limits: LossLimits | None = None,
) -> PageText:
    """
    The new Markdown of a page.

    Args:
        page: its current Markdown; empty if it has none yet.
        ahead: the names of the views that the app wrote; the others are ignored.
        stem: the file's name without ending, the title of a page whose front matter has none.
        former: its earlier texts, the newest first: what returns from them is spelled as it was.
        limits: of what the new content may remove; None: all is meant.

    A column takes precedence over the same key in `frontmatter`. `id` is added if the front matter has no
    such key, and never changed.

    Raises:
        ContentLost: the content is not confirmed, and removes what a person may not have removed.
        Damaged: Markdown cannot hold the wanted views, or the front matter to change is not valid.
    """
    if "content" in ahead:
        page = _replace_content(page, _checked_content(new_views), former, limits)
    if ahead - {"content"}:
        page = with_keys(page, _collect_changes(page.views, ahead, new_views, stem))
    return page


def _checked_content(new_views: NewViews) -> Document:
    """The new document. Raises Damaged if it is none."""
    content = new_views.content or {"type": "doc"}
    return content if new_views.is_checked and content["type"] == "doc" else check_document(content)


def _replace_content(page: PageText, document: Document, former: Sequence[str], limits: LossLimits | None) -> PageText:
    ending = first_line_ending(page.text)
    returning = former_lines([page.text, *former], page.dialect) if former else {}
    body = splice_document(page.body, document, ending, returning, limits=limits, dialect=page.dialect)
    head = page.head
    if head and body and head[-1] not in "\r\n":
        head += ending
    for lead in ("", ending):  # without front matter, a `---` on the first line would begin one
        result = PageText(page.bom + head + lead + body, page.dialect)
        if result.parts == (page.bom, head, lead + body):
            return result
    raise Damaged("the change would turn the beginning of the page into front matter")


def _collect_changes(views: Views, ahead: frozenset[str], new_views: NewViews, stem: str) -> dict[str, Json | Removed]:
    if views.error:
        raise Damaged(views.error)
    changes = _changes_by_frontmatter(views, new_views) if "frontmatter" in ahead else {}
    columns = ahead & {"id", "title", "icon", "position"}
    return {key: value for key, value in changes.items() if key not in columns} | {
        key: value for key, value in _changes_by_columns(views, new_views, stem).items() if key in columns
    }


def _changes_by_frontmatter(views: Views, new_views: NewViews) -> dict[str, Json | Removed]:
    new = new_views.frontmatter or {}
    changes: dict[str, Json | Removed] = {key: REMOVED for key in views.frontmatter if key not in new}
    changes.update(new)
    if views.id is not None:
        changes.pop("id", None)
    return changes


def _changes_by_columns(views: Views, new_views: NewViews, stem: str) -> dict[str, Json | Removed]:
    """The changes by columns, each only if the page does not show that value already."""
    changes: dict[str, Json | Removed] = {}
    if new_views.id is not None and views.id is None:
        changes["id"] = new_views.id
    if new_views.title != (views.title or stem):
        changes["title"] = new_views.title or REMOVED
    if new_views.icon != views.icon:
        changes["icon"] = new_views.icon or REMOVED
    if new_views.position != views.position:
        changes["position"] = new_views.position or REMOVED
    return changes
