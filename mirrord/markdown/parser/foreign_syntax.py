"""
Syntax of other programs: what of a page is raw in each dialect, because the program reads it and mirrord does not.

One table says which constructs a dialect has; a construct is a pattern inside paragraphs, or rules for lines. Patterns
are bounded, so that no text takes quadratic time.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto
from functools import cache
from types import MappingProxyType

from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

from mirrord.domain.dialect import Dialect
from mirrord.markdown.parser.fast_paths import has_match_after
from mirrord.markdown.parser.mdx_lines import end_line_of_mdx

FOREIGN, PROPERTIES = "foreign", "properties"  # types of the tokens of lines; links in the latter count
FIRST_CHARACTERS = "{\\[!(<"  # of constructs inside paragraphs
MARKUP = r"\{|\((?=\()"  # what begins one and is no sign of the base dialect


class Construct(Enum):
    """A part of the syntax of other programs."""

    TEMPLATES = auto()  # {{ … }} {% … %} of Liquid, Hugo, Jinja, and macros of Logseq; links whose target holds one
    ATTRIBUTES = auto()  # {: .class} {#id} of kramdown, Goldmark and Python-Markdown; *[ABBR]: …
    FORMULAS = auto()  # \( … \) and \\[ … \\] of MathJax
    DIRECTIVES = auto()  # :::note
    BOXES = auto()  # !!! ??? === with an indented content
    MODULES = auto()  # MDX: import, export, {expressions} and elements of JSX
    ROLES = auto()  # MyST: fences of directives, {roles}`…`, (targets)=, % comments, +++
    OUTLINES = auto()  # Logseq: key:: value, ((references)), no indented code


CONSTRUCTS: Mapping[Dialect, frozenset[Construct]] = MappingProxyType(
    {
        Dialect.PLAIN: frozenset(),
        Dialect.OBSIDIAN: frozenset(),
        Dialect.LOGSEQ: frozenset([Construct.OUTLINES, Construct.TEMPLATES]),
        Dialect.MKDOCS: frozenset(
            [Construct.BOXES, Construct.ATTRIBUTES, Construct.TEMPLATES, Construct.FORMULAS, Construct.DIRECTIVES]
        ),
        Dialect.JEKYLL: frozenset([Construct.TEMPLATES, Construct.ATTRIBUTES, Construct.FORMULAS]),
        Dialect.HUGO: frozenset([Construct.TEMPLATES, Construct.ATTRIBUTES, Construct.FORMULAS]),
        Dialect.DOCUSAURUS: frozenset([Construct.MODULES, Construct.DIRECTIVES]),
        Dialect.ASTRO: frozenset([Construct.MODULES, Construct.DIRECTIVES]),
        Dialect.MYST: frozenset(
            [Construct.ROLES, Construct.DIRECTIVES, Construct.TEMPLATES, Construct.ATTRIBUTES, Construct.FORMULAS]
        ),
    }
)

_TEMPLATE = r"(?:\{\{(?:[^}]|\}(?!\})){0,2000}+\}\}|\{%(?:[^%]|%(?!\})){0,2000}+%\})"
_TARGET = r"(?:[^()\s{]|\{(?![{%])){0,1000}+"
_BRACES = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]{0,500}\}){0,500}+\}){0,1000}+\}"
_ATTRIBUTE = rf"""\s++(?:[\w:@.-]++(?:\s*+=\s*+(?:"[^"]{{0,1000}}"|'[^']{{0,1000}}'|{_BRACES}))?+|{_BRACES})"""
_INLINE: Mapping[Construct, str] = MappingProxyType(
    {
        Construct.TEMPLATES: rf"!?\[[^\[\]]{{0,500}}\]\({_TARGET}(?:{_TEMPLATE}{_TARGET}){{1,8}}\)|{_TEMPLATE}",
        Construct.ATTRIBUTES: r"\{(?::[^{}\n]{0,500}|[#.][\w-][^{}\n]{0,500})\}",
        Construct.FORMULAS: (
            r"(?P<slashes>\\{1,2})\((?:[^\\]|\\(?!\\?\))){1,1000}+(?P=slashes)\)"
            r"|\\\\\[(?:[^\\]|\\(?!\\\])){1,1000}+\\\\\]"
        ),
        Construct.MODULES: rf"{_BRACES}|<[A-Za-z][\w.:-]*+(?:{_ATTRIBUTE}){{1,50}}\s*+/?>",
        Construct.ROLES: (
            r"\{[A-Za-z][\w:.+-]{0,60}\}(?P<ticks>`++)(?:[^`]++|(?!(?P=ticks)(?!`))`++){1,500}+(?P=ticks)(?!`)"
        ),
        Construct.OUTLINES: r"\(\([0-9A-Za-z-]{6,60}\)\)",
    }
)
_LINES: Mapping[Construct, str] = MappingProxyType(  # lines that are raw by themselves
    {
        Construct.TEMPLATES: rf"(?:{_TEMPLATE}[ \t]*)++|\[[^\]\n]{{1,500}}\]:[^\n]*\{{[{{%][^\n]*",
        Construct.ATTRIBUTES: r"\{:[^{}\n]*\}[ \t]*|\*\[[^\]\n]+\]:[^\n]*",
        Construct.DIRECTIVES: r":{3,}[^\n]*|::[A-Za-z][\w-]*(?:\[[^\n]*\])?(?:\{[^\n]*\})?[ \t]*",
        Construct.ROLES: r"\([^()\n]{1,200}\)=[ \t]*|%[^\n]*|\+{3}(?:[ \t][^\n]*)?",
        Construct.MODULES: (
            rf"{_BRACES}[ \t]*"
            rf"|</?(?:[A-Z][\w.]*(?:{_ATTRIBUTE}){{0,50}}+)?\s*+/?>(?:[^\n]*>)?[ \t]*"
        ),
    }
)
_LITERAL = r"(?:highlight|raw|comment|mermaid|chart|katex|math)"
_SPANS: Mapping[Construct, Sequence[tuple[str, str]]] = MappingProxyType(  # first lines, and the last line of each
    {
        Construct.TEMPLATES: (
            (rf"\{{%-?[ \t]*(?P<name>{_LITERAL})\b[^\n]*", r"\{{%-?[ \t]*end{name}[ \t]*-?%\}}[ \t]*"),
            (
                rf"\{{\{{[<%][ \t]*(?P<name>{_LITERAL})\b[^\n]*[^/\n][>%]\}}\}}[ \t]*",
                r"\{{\{{[<%][ \t]*/[ \t]*{name}[ \t]*[>%]\}}\}}[ \t]*",
            ),
        ),
        Construct.ROLES: (
            (r"(?P<name>`{3,})[ \t]*\{[A-Za-z][\w:.+-]*\}[^`\n]*", r"(?<![^\s>]){name}`*[ \t]*(?m:$)"),
            (r"(?P<name>~{3,})[ \t]*\{[A-Za-z][\w:.+-]*\}[^\n]*", r"(?<![^\s>]){name}~*[ \t]*(?m:$)"),
        ),
        Construct.OUTLINES: (
            (r"#\+(?i:BEGIN)_(?P<name>\w+)[^\n]*", r"#\+(?i:END)_{name}[ \t]*"),
            (r":(?P<name>LOGBOOK):[ \t]*", r":END:[ \t]*"),
        ),
    }
)
_BOX = re.compile(r"(?:!!!|\?\?\?\+?|===[!+]?)[ \t]+[\w\"'][^\n]*")
_STATEMENT = re.compile(
    r"import\s+(?:[\w*{][^\n]*|['\"][^\n]*)|export\s+(?:const|default|function|let|async|\*|\{)[^\n]*"
)
_PROPERTY = re.compile(r"[\w./-]+::(?:[ \t][^\n]*)?")
_DIRECTIVE = re.compile(r":{3,}[ \t]*\{[A-Za-z][\w:.+-]*\}[^\n]*")
_OPTION = re.compile(r":[A-Za-z][\w-]*:(?:[ \t][^\n]*)?")
_MAX_LINES = 12  # of a tag or an expression

BlockRule = Callable[[StateBlock, int, int, bool], bool]


def has_indented_code(dialect: Dialect) -> bool:
    """Whether lines with an indent of four are code there."""
    return CONSTRUCTS[dialect].isdisjoint([Construct.MODULES, Construct.OUTLINES])


@cache
def inline_pattern(dialect: Dialect) -> re.Pattern[str] | None:
    """What is raw inside paragraphs; None: nothing."""
    patterns = [pattern for construct, pattern in _INLINE.items() if construct in CONSTRUCTS[dialect]]
    return re.compile("|".join(patterns), re.DOTALL) if patterns else None


@cache
def foreign_inline_rule(dialect: Dialect) -> Callable[[StateInline, bool], bool] | None:
    """The rule of a parser for what is raw inside paragraphs; None: nothing is."""
    pattern = inline_pattern(dialect)
    if pattern is None:
        return None

    def foreign_inline(state: StateInline, silent: bool) -> bool:
        match = pattern.match(state.src, state.pos, state.posMax)
        if not match:
            return False
        if not silent:
            state.push("raw_inline", "", 0).content = match.group()
        state.pos = match.end()
        return True

    return foreign_inline


def foreign_block_rule(dialect: Dialect) -> BlockRule | None:
    """The rule of a parser for raw lines; None: there are none."""
    measures = [measure for construct in CONSTRUCTS[dialect] for measure in _measures_of(construct)]
    if not measures:
        return None

    def foreign_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        if state.is_code_block(start):
            return False
        behind, kind = max((measure(state, start, end, silent) for measure in measures), default=(start, FOREIGN))
        if behind <= start:
            return False
        if not silent:
            state.line = behind
            token = state.push(kind, "", 0)
            token.map = [start, behind]
            token.content = state.getLines(start, behind, state.blkIndent, False)
        return True

    return foreign_block


_Measure = Callable[[StateBlock, int, int, bool], tuple[int, str]]  # the line behind the raw ones, and their type


def _measures_of(construct: Construct) -> list[_Measure]:
    result: list[_Measure] = []
    if construct in _LINES:
        result.append(_measure_by(re.compile(_LINES[construct], re.DOTALL)))
    for opening, closing in _SPANS.get(construct, ()):
        result.append(_measure_between(re.compile(opening), closing))
    result += {
        Construct.BOXES: [_measure_box],
        Construct.MODULES: [_measure_statement, _measure_mdx],
        Construct.ROLES: [_measure_options],
        Construct.OUTLINES: [_measure_properties],
    }.get(construct, [])
    return result


def _line(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]


def _measure_by(pattern: re.Pattern[str]) -> _Measure:
    def measure(state: StateBlock, start: int, end: int, silent: bool) -> tuple[int, str]:
        """A line of that pattern; outside of containers it may go on over lines without a blank one."""
        first = _line(state, start)
        if pattern.fullmatch(first):
            return start + 1, FOREIGN
        if state.blkIndent or state.level or first[:1] not in "{<":
            return start, FOREIGN
        text = first
        for line in range(start + 1, min(end, start + _MAX_LINES)):
            if state.isEmpty(line):
                break
            text += "\n" + _line(state, line)
            if pattern.fullmatch(text):
                return line + 1, FOREIGN
        return start, FOREIGN

    return measure


def _measure_between(opening: re.Pattern[str], closing: str) -> _Measure:
    def measure(state: StateBlock, start: int, end: int, silent: bool) -> tuple[int, str]:
        """The lines from an opening one up to the next that closes it."""
        match = opening.fullmatch(_line(state, start))
        if not match:
            return start, FOREIGN
        last = re.compile(closing.format(name=re.escape(match["name"])))
        if not has_match_after(state, start, last):
            return start, FOREIGN
        for line in range(start + 1, end):
            if not state.isEmpty(line) and state.sCount[line] < state.blkIndent:
                break
            if last.fullmatch(_line(state, line)):
                return line + 1, FOREIGN
        return start, FOREIGN

    return measure


def _measure_box(state: StateBlock, start: int, end: int, silent: bool) -> tuple[int, str]:
    """A box of MkDocs: its first line, and all that is indented by four below it."""
    if not _BOX.fullmatch(_line(state, start)):
        return start, FOREIGN
    behind = start + 1
    for line in range(start + 1, end):
        if state.isEmpty(line):
            continue
        if state.sCount[line] - state.sCount[start] < 4:
            break
        behind = line + 1
    return behind, FOREIGN


def _measure_statement(state: StateBlock, start: int, end: int, silent: bool) -> tuple[int, str]:
    """Statements of MDX up to a blank line; they interrupt no paragraph."""
    if silent or state.blkIndent or state.level or not _STATEMENT.fullmatch(_line(state, start)):
        return start, FOREIGN
    behind = start + 1
    while behind < end and not state.isEmpty(behind):
        behind += 1
    return behind, FOREIGN


def _measure_mdx(state: StateBlock, start: int, end: int, silent: bool) -> tuple[int, str]:
    """An expression or an opening tag of MDX, as long as it may be."""
    return end_line_of_mdx(state, start, end), FOREIGN


def _measure_options(state: StateBlock, start: int, end: int, silent: bool) -> tuple[int, str]:
    """The first line of a directive of MyST with the options right below it."""
    if not _DIRECTIVE.fullmatch(_line(state, start)):
        return start, FOREIGN
    behind = start + 1
    while behind < end and state.sCount[behind] >= state.blkIndent and _OPTION.fullmatch(_line(state, behind)):
        behind += 1
    return behind, FOREIGN


def _measure_properties(state: StateBlock, start: int, end: int, silent: bool) -> tuple[int, str]:
    """Consecutive properties of a page or of a block of Logseq."""
    behind = start
    while behind < end and state.sCount[behind] >= state.blkIndent and _PROPERTY.fullmatch(_line(state, behind)):
        behind += 1
    return behind, PROPERTIES
