"""
The Markdown dialect: CommonMark, GFM tables, strikethrough and tasks, footnotes, math and Obsidian syntax.

Reading, verifying and finding links all use this one parser: a difference would hide losses.
"""

import re
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType, SimpleNamespace
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.helpers import parseLinkLabel, parseLinkTitle
from markdown_it.rules_block import blockquote, fence, heading, html_block, list_block
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import (
    autolink,
    backtick,
    emphasis,
    entity,
    escape,
    html_inline,
    image,
    link,
    newline,
    strikethrough,
)
from markdown_it.token import Token
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.footnote.index import footnote_def

from mirrord.markdown.frontmatter.page_text import with_unix_endings
from mirrord.markdown.parser.fast_paths import (
    horizontal_rule,
    one_line_any_start,
    one_line_paragraph,
    plain_heading,
    plain_list,
    setext_heading,
)
from mirrord.markdown.parser.inline_spans import Span, SpannedInlineParser, spans_of
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

__all__ = ["MAX_NESTING", "WIKILINK", "is_script", "make_plain_parser", "parse", "parse_blocks", "parse_inline"]

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
        list_block: "*+-0123456789",
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
        strikethrough.tokenize: "~",
        emphasis.tokenize: "*_",
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


def parse(body: str, env: dict[str, Any]) -> list[Token]:
    """The tokens of a page without its front matter; *env* receives `references`."""
    return _MARKDOWN.parse(body, env)


def parse_blocks(body: str, env: dict[str, Any] | None = None) -> list[Token]:
    """The tokens without those inside paragraphs, in a fraction of the time."""
    tokens: list[Token] = []
    _MARKDOWN.block.parse(_normalize(body), _MARKDOWN, {} if env is None else env, tokens)
    return tokens


def parse_inline(content: str, references: Mapping[str, Any]) -> tuple[list[Token], list[Span]]:
    """
    The tokens in the *content* of an `inline` token, and for each the characters that it stands for.

    Raises:
        PARSER_ERRORS: of `work_limit`.
    """
    tokens: list[Token] = []
    env: dict[str, Any] = {"references": dict(references), "steps": allowed_steps(content)}
    markdown = _spanned_parser()
    markdown.inline.parse(content, markdown, env, tokens)
    return tokens, spans_of(tokens, env, len(content))


def _normalize_state(state: StateCore) -> None:
    state.src = _normalize(state.src)


def _normalize(body: str) -> str:
    return with_unix_endings(body).replace("\0", "\ufffd")


def make_plain_parser() -> MarkdownIt:
    """The dialect without shortcuts and limits: the parser's own rules, which give the same tokens."""
    markdown = _Markdown("commonmark", {"maxNesting": MAX_NESTING, "tasklists": True})
    markdown.use(footnote_plugin, inline=False, move_to_end=False)
    markdown.enable(["table", "strikethrough"])
    markdown.disable("text_join")  # it would hide which characters were escaped
    block, inline = markdown.block.ruler, markdown.inline.ruler
    block.at("reference", definition)
    block.before("fence", "math_block", math_block)
    block.before("fence", "comment", comment_block)
    markdown.core.ruler.after("block", "shapes", shape_blocks)
    inline.before("escape", "math_inline", math_inline)
    inline.before("link", "wikilink", wikilink)
    inline.before("link", "comment", comment)
    inline.before("link", "highlight", highlight)
    inline.at("footnote_ref", footnote_ref)
    inline.after("image", "inline_footnote", inline_footnote)
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


def _with_limits(markdown: MarkdownIt, make_inline: type[CountedInlineParser] = CountedInlineParser) -> MarkdownIt:
    """*markdown* with parsers that count their steps and try rules only where markup can begin."""
    markdown.block.ruler.at("table", counted_table, {"alt": ["paragraph", "reference"]})
    markdown.core.ruler.at("inline", parse_texts)
    blocks = CountedBlockParser()
    blocks.ruler = CountedRules(markdown.block.ruler, _FIRST_OF_BLOCK)
    markdown.block, markdown.inline = (
        blocks,
        make_inline(markdown.inline, _FIRST_OF_INLINE, _MARKUP, MAX_NESTING),
    )
    helpers = SimpleNamespace(
        parseLinkDestination=link_destination, parseLinkLabel=parseLinkLabel, parseLinkTitle=parseLinkTitle
    )
    markdown.helpers = helpers  # type: ignore[assignment]
    return markdown


_MARKDOWN = _with_limits(_with_fast_rules(make_plain_parser()))


@cache
def _spanned_parser() -> MarkdownIt:
    return _with_limits(make_plain_parser(), SpannedInlineParser)
