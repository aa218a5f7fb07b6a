"""
The Markdown dialect: CommonMark, GFM tables, strikethrough and tasks, footnotes, math and Obsidian syntax.

Reading, verifying and finding links all use this one parser: a difference would hide losses.
"""

import re
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.helpers import parseLinkLabel, parseLinkTitle
from markdown_it.rules_block import blockquote, fence, heading, html_block
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import (
    autolink,
    backtick,
    entity,
    escape,
    html_inline,
    image,
    link,
    newline,
)
from markdown_it.token import Token
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.footnote.index import footnote_def

from mirrord.domain.dialect import Dialect
from mirrord.markdown.frontmatter.page_text import with_unix_endings
from mirrord.markdown.parser.emphasis_signs import emphasis_sign, strikethrough_sign
from mirrord.markdown.parser.fast_paths import (
    horizontal_rule,
    one_line_any_start,
    one_line_paragraph,
    plain_heading,
    plain_list,
    setext_heading,
)
from mirrord.markdown.parser.foreign_syntax import (
    CONSTRUCTS,
    FIRST_CHARACTERS,
    MARKUP,
    foreign_block_rule,
    foreign_inline_rule,
    has_indented_code,
)
from mirrord.markdown.parser.inline_spans import Span, SpannedInlineParser, spans_of
from mirrord.markdown.parser.lazy_lines import nested_list
from mirrord.markdown.parser.nested_blocks import shape_blocks
from mirrord.markdown.parser.syntax_rules import (
    WIKILINK,
    comment,
    comment_block,
    definition,
    footnote_ref,
    highlight,
    inline_footnote,
    link_destination,
    list_at_any_indent,
    math_block,
    math_inline,
    plain_code,
    plain_link,
    wikilink,
)
from mirrord.markdown.parser.work_limit import (
    CountedBlockParser,
    CountedInlineParser,
    CountedRules,
    InlineRule,
    Rule,
    allowed_steps,
    counted_table,
    parse_texts,
)

__all__ = [
    "ALONE",
    "MAX_NESTING",
    "WIKILINK",
    "Surroundings",
    "is_script",
    "make_plain_parser",
    "parse",
    "parse_blocks",
    "parse_inline",
]

MAX_NESTING = 100  # levels; the parser silently drops deeper content, so a block that reaches this stays raw

_IGNORED_IN_SCHEMES = re.compile(r"[\x00-\x20\x7f]")
_SCRIPT = re.compile(r"(?:javascript|vbscript|data(?!:image/(?:gif|png|jpeg|webp);)):", re.IGNORECASE)
_MARKUP = re.compile(  # signs that begin or end markup inside a paragraph
    r"\n|\$|&|\*|<|\[|\]|\\|`|!(?=\[)|%(?=%)|=(?==)|\^(?=\[)|~(?=~)|_(?:(?![^\W_])|(?<![^\W_]_))"
)
_FIRST_OF_BLOCK: Mapping[Rule, str] = MappingProxyType(
    {
        fence: "`~",
        math_block: "$",
        comment_block: "%",
        blockquote: ">",
        horizontal_rule: "*-_",
        plain_list: "*+-",
        nested_list: "*+-0123456789",
        list_at_any_indent: "*+-0123456789",
        footnote_def: "[",
        definition: "[",
        html_block: "<",
        plain_heading: "#",
        heading: "#",
        one_line_any_start: "`~$%>*-_+0123456789[<#",
        one_line_paragraph: "",
    }
)

_FIRST_OF_INLINE: Mapping[InlineRule, str] = MappingProxyType(
    {
        newline: "\n",
        escape: "\\",
        plain_code: "`",
        backtick: "`",
        strikethrough_sign: "~",
        emphasis_sign: "*_",
        plain_link: "[",
        link: "[",
        image: "!",
        autolink: "<",
        html_inline: "<",
        entity: "&",
        math_inline: "$",
        comment: "%",
        highlight: "=",
        wikilink: "![",
        footnote_ref: "[",
        inline_footnote: "^",
    }
)


class _Markdown(MarkdownIt):
    """Keeps link targets as written: people's file names are not percent-encoded."""

    def normalizeLink(self, url: str) -> str:  # noqa: N802
        return url

    def normalizeLinkText(self, link: str) -> str:  # noqa: N802
        return link

    def validateLink(self, url: str) -> bool:  # noqa: N802
        return not is_script(url)


def is_script(url: str) -> bool:
    """Whether following *url* would run a script."""
    return bool(_SCRIPT.match(_IGNORED_IN_SCHEMES.sub("", url)))


class Surroundings(NamedTuple):
    """
    What gives a block its meaning besides its own lines.

    references: the reference definitions of the page. dialect: of the program that reads the page, too.
    """

    references: Mapping[str, Any] = MappingProxyType({})
    dialect: Dialect = Dialect.PLAIN


ALONE = Surroundings()  # of a text without definitions elsewhere, for no program that mirrord knows


def parse(body: str, env: dict[str, Any], dialect: Dialect = Dialect.PLAIN) -> list[Token]:
    """The tokens of a page without its front matter; *env* receives `references`."""
    return _parser_of(dialect).parse(body, env)


def parse_blocks(body: str, env: dict[str, Any] | None = None, dialect: Dialect = Dialect.PLAIN) -> list[Token]:
    """The tokens without those inside paragraphs, in a fraction of the time."""
    tokens: list[Token] = []
    markdown = _parser_of(dialect)
    markdown.block.parse(_normalize(body), markdown, {} if env is None else env, tokens)
    return tokens


def parse_inline(content: str, surroundings: Surroundings) -> tuple[list[Token], list[Span]]:
    """
    The tokens in the *content* of an `inline` token, and for each the characters that it stands for.

    Raises:
        PARSER_ERRORS: of `work_limit`.
    """
    tokens: list[Token] = []
    env: dict[str, Any] = {"references": dict(surroundings.references), "steps": allowed_steps(content)}
    markdown = _spanned_parser(surroundings.dialect)
    markdown.inline.parse(content, markdown, env, tokens)
    return tokens, spans_of(tokens, env, len(content))


def _normalize_state(state: StateCore) -> None:
    state.src = _normalize(state.src)


def _normalize(body: str) -> str:
    return with_unix_endings(body).replace("\0", "\ufffd")


def make_plain_parser(dialect: Dialect = Dialect.PLAIN) -> MarkdownIt:
    """The parser without shortcuts and limits: its own rules, which give the same tokens; and those of a *dialect*."""
    markdown = _Markdown("commonmark", {"maxNesting": MAX_NESTING, "tasklists": True})
    markdown.use(footnote_plugin, inline=False, move_to_end=False)
    markdown.enable(["table", "strikethrough"])
    markdown.disable("text_join")  # it would hide which characters were escaped
    block, inline = markdown.block.ruler, markdown.inline.ruler
    block.at("reference", definition)
    block.before("fence", "math_block", math_block)
    block.before("fence", "comment", comment_block)
    block.at("list", nested_list, {"alt": ["paragraph", "reference", "blockquote"]})
    markdown.core.ruler.after("block", "shapes", shape_blocks)
    inline.at("emphasis", emphasis_sign)
    inline.at("strikethrough", strikethrough_sign)
    inline.before("escape", "math_inline", math_inline)
    inline.before("link", "wikilink", wikilink)
    inline.before("link", "comment", comment)
    inline.before("link", "highlight", highlight)
    inline.at("footnote_ref", footnote_ref)
    inline.after("image", "inline_footnote", inline_footnote)
    if foreign_block := foreign_block_rule(dialect):
        block.before("table", "foreign", foreign_block, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    if foreign_inline := foreign_inline_rule(dialect):
        inline.before("math_inline", "foreign", foreign_inline)
    if not has_indented_code(dialect):
        markdown.disable("code")
        block.at("list", list_at_any_indent, {"alt": ["paragraph", "reference", "blockquote"]})
    return markdown


def _with_fast_rules(markdown: MarkdownIt) -> MarkdownIt:
    """*markdown* with fast rules for the most common forms of blocks, links and code."""
    block, inline = markdown.block.ruler, markdown.inline.ruler
    block.at("hr", horizontal_rule, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    block.at("lheading", setext_heading)
    block.before("table", "one_line", one_line_paragraph)
    block.before("list", "plain_list", plain_list)
    block.before("heading", "plain_heading", plain_heading, {"alt": ["paragraph", "reference", "blockquote"]})
    block.before("lheading", "unlike_its_sign", one_line_any_start)
    inline.before("backticks", "plain_code", plain_code)
    inline.before("link", "plain_link", plain_link)
    markdown.core.ruler.at("normalize", _normalize_state)
    return markdown


def _with_limits(
    markdown: MarkdownIt, dialect: Dialect, make_inline: type[CountedInlineParser] = CountedInlineParser
) -> MarkdownIt:
    """*markdown* with parsers that count their steps and try rules only where markup can begin."""
    markdown.block.ruler.at("table", counted_table, {"alt": ["paragraph", "reference"]})
    markdown.core.ruler.at("inline", parse_texts)
    blocks = CountedBlockParser()
    blocks.ruler = CountedRules(markdown.block.ruler, _FIRST_OF_BLOCK)
    foreign = foreign_inline_rule(dialect)
    first = {**_FIRST_OF_INLINE, foreign: FIRST_CHARACTERS} if foreign else _FIRST_OF_INLINE
    markup = re.compile(f"{_MARKUP.pattern}|{MARKUP}") if foreign else _MARKUP
    markdown.block, markdown.inline = blocks, make_inline(markdown.inline, first, markup, MAX_NESTING)
    helpers = SimpleNamespace(
        parseLinkDestination=link_destination, parseLinkLabel=parseLinkLabel, parseLinkTitle=parseLinkTitle
    )
    markdown.helpers = helpers  # type: ignore[assignment]
    return markdown


_MARKDOWN = _with_limits(_with_fast_rules(make_plain_parser()), Dialect.PLAIN)


@cache
def _parser_of(dialect: Dialect) -> MarkdownIt:
    """The parser of pages in that *dialect*; the fast rules do not know what other programs read."""
    return _with_limits(make_plain_parser(dialect), dialect) if CONSTRUCTS[dialect] else _MARKDOWN


@cache
def _spanned_parser(dialect: Dialect) -> MarkdownIt:
    return _with_limits(make_plain_parser(dialect), dialect, SpannedInlineParser)
