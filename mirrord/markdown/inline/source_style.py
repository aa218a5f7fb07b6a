"""How a block was written where Markdown leaves a choice, so that a rewrite keeps it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from markdown_it.token import Token

from mirrord.markdown.parser.nested_blocks import BARE_KEY
from mirrord.markdown.schema.sized_images import split_size

_LIST_TOKENS = ("bullet_list_open", "ordered_list_open")


@dataclass(frozen=True, slots=True)
class ListStyle:
    """
    marker: `-`, `*` or `+`; for numbers `.` or `)`.
    loose: blank lines between items.
    has_rising_numbers: the numbers rise; true of bullets, too: a numbered list of the same depth may follow them.
    bare_items: indexes of task items with an empty text, which other parsers do not see as tasks.
    """

    marker: str = ""
    loose: bool = False
    has_rising_numbers: bool = True
    bare_items: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Style:
    """
    lists: by depth, outermost first; the last one also applies to deeper lists.
    emphasis, strong: the delimiters.
    spaces: hard breaks are two blanks instead of a backslash.
    setext: headings of level 1 and 2 are underlined.
    hollow: code without text holds an empty line.
    wary: every character that could be markup is escaped.
    size_in_alt: the size of an image is in its description, as Obsidian has it, not in an HTML tag.
    """

    lists: tuple[ListStyle, ...] = (ListStyle(),)
    emphasis: str = "*"
    strong: str = "**"
    fence: str = "`"
    rule: str = "---"
    spaces: bool = False
    setext: bool = False
    hollow: bool = False
    wary: bool = False
    size_in_alt: bool = False

    def style_in_items(self) -> "Style":
        """The style inside list items, where a rule of dashes could be read as items."""
        return replace(self, lists=self.lists[1:] or self.lists, rule="___")

    def with_marker(self, marker: str) -> "Style":
        """The style with another marker for the outermost list."""
        return replace(self, lists=(replace(self.lists[0], marker=marker), *self.lists[1:]))


def style_of(tokens: Sequence[Token], habit: Style | None = None) -> Style:
    """The style of a block, completed by the *habit* of its page."""
    style = habit or Style()
    style = replace(style, lists=tuple(_list_styles(tokens)) or style.lists)
    for token in tokens:
        if token.type == "fence":
            style = replace(style, fence=token.markup[0], hollow=token.content == "\n")
        elif token.type == "heading_open":
            style = replace(style, setext=token.markup in ("=", "-"))
        elif token.type == "hr":
            style = replace(style, rule=token.markup[0] * 3)
        elif token.type == "inline":
            style = _with_delimiters(style, token)
    return style


def usual_style_of(tokens: Sequence[Token]) -> Style:
    """The most common style in a page, the first of equally common ones; defaults for choices that never occur."""
    counts = Counter(choice for token in tokens for choice in _choices_of(token))
    style = Style()
    for (name, value), _ in reversed(counts.most_common()):
        style = replace(style, **{name: value})
    bullets = Counter(token.markup for token in tokens if token.type == "bullet_list_open").most_common(1)
    return style.with_marker(bullets[0][0]) if bullets else style


def _choices_of(token: Token) -> Iterator[tuple[str, Any]]:
    """The choices of style in a block token and its children."""
    if token.type == "heading_open" and token.tag in ("h1", "h2"):
        yield "setext", token.markup in ("=", "-")
    elif token.type in ("fence", "hr"):
        yield ("fence", token.markup[0]) if token.type == "fence" else ("rule", token.markup[0] * 3)
    for child in token.children or ():
        if child.type in ("em_open", "strong_open"):
            yield "emphasis" if child.type == "em_open" else "strong", child.markup
        elif child.type == "hardbreak":
            yield "spaces", "  \n" in token.content
        elif child.type == "image" and split_size(child.content)[1]:
            yield "size_in_alt", True


def _with_delimiters(style: Style, token: Token) -> Style:
    for child in token.children or ():
        if child.type == "em_open":
            style = replace(style, emphasis=child.markup)
        elif child.type == "strong_open":
            style = replace(style, strong=child.markup)
        elif child.type == "hardbreak":
            style = replace(style, spaces="  \n" in token.content)
    return style


def _list_styles(tokens: Sequence[Token]) -> Iterator[ListStyle]:
    """The first list of each depth."""
    depth, deepest = 0, 0
    for index, token in enumerate(tokens):
        if token.type.endswith("_list_close"):
            depth -= 1
        elif token.type in _LIST_TOKENS:
            depth += 1
            if depth > deepest:
                deepest = depth
                yield _list_style(tokens, index)


def _list_style(tokens: Sequence[Token], index: int) -> ListStyle:
    level, loose = tokens[index].level, False
    items: list[Token] = []
    for token in tokens[index + 1 :]:
        if token.level == level:
            break
        if token.level == level + 1 and token.type == "list_item_open":
            items.append(token)
        if token.level == level + 2 and token.type == "paragraph_open" and not token.hidden:
            loose = True
    bare = frozenset(at for at, item in enumerate(items) if BARE_KEY in item.meta)
    has_bullets = tokens[index].type == "bullet_list_open"
    has_rising_numbers = has_bullets or len(items) < 2 or items[0].info != items[1].info
    return ListStyle(tokens[index].markup, loose, has_rising_numbers, bare)


def style_variants(style: Style) -> Iterator[Style]:
    """*style*, then others with the same meaning, tried if it is not read back."""
    delimiters = dict.fromkeys([(style.emphasis, style.strong), *product("*_", ("**", "__"))])
    for wary, is_loose in product((False, True), repeat=2):
        for emphasis, strong in delimiters:
            lists = tuple(replace(list_style, loose=True) for list_style in style.lists) if is_loose else style.lists
            yield replace(
                style,
                lists=lists,
                emphasis=emphasis,
                strong=strong,
                wary=wary,
                spaces=style.spaces and not is_loose,
                setext=style.setext and not is_loose,
            )
