"""Which words of two edits of one paragraph may be mixed: of prose, not of code or of other programs. Pure."""

import re

from mirrord.domain.dialect import Dialect
from mirrord.markdown.parser.foreign_syntax import FOREIGN, PROPERTIES, inline_pattern
from mirrord.markdown.read.page_outline import regions_of

_TOKEN = re.compile(r"\s+|\S+")
_LITERAL_KINDS = frozenset(
    ["fence", "code_block", "table_open", "html_block", "math_block", "comment", "definition", "opaque"]
) | {FOREIGN, PROPERTIES}


def words_in(text: str, dialect: Dialect) -> list[str]:
    """Words, blanks between them, and what another program reads, each as a whole."""
    pattern, words, at = inline_pattern(dialect), list[str](), 0
    for match in pattern.finditer(text) if pattern is not None else ():
        words += [*_TOKEN.findall(text[at : match.start()]), match.group()]
        at = match.end()
    return words + _TOKEN.findall(text[at:])


def is_literal(text: list[str], span: slice, dialect: Dialect) -> bool:
    """Whether any line of *span* is in a block whose words must not be mixed, such as code or a table."""
    body = "\n".join(text)
    for region in regions_of(body, dialect):
        if region.kind in _LITERAL_KINDS:
            first = body.count("\n", 0, region.start)
            last = body.count("\n", 0, region.end)
            if first < span.stop and span.start < max(last, first + 1):
                return True
    return _cuts_foreign_syntax(body, span, dialect)


def _cuts_foreign_syntax(body: str, span: slice, dialect: Dialect) -> bool:
    """Whether *span* has only some lines of what another program reads."""
    pattern = inline_pattern(dialect)
    for match in pattern.finditer(body) if pattern is not None else ():
        first = body.count("\n", 0, match.start())
        last = first + match.group().count("\n")
        if first < span.stop and span.start <= last and not span.start <= first <= last < span.stop:
            return True
    return False
