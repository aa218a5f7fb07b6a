"""
Which characters of plain text need a backslash so that they are not read as markup.

Only characters that are markup at their place are escaped, so that prose stays readable; if that is not
enough, the wary mode escapes every character that can be markup. `#tag` and ` ^block` are text in this
dialect and never escaped; the reader keeps a backslash before them.
"""

import re

_PUNCTUATION = r"[!-/:-@\[-`{-~]"
_ENTITY = r"(?:\#[0-9]{1,7}|\#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});"
_LIGHT = re.compile(
    rf"""\\(?={_PUNCTUATION}|\n)
    | `
    | (?<=\S)\* | \*(?=\S)
    | (?<!\w)_(?=\S) | (?<=\S)_(?!\w)
    | \[(?=\[|\^[^\s\]]+\]|[^\[\]]*\][(\[:])
    | !(?=\[)
    | <(?=[A-Za-z/!?])
    | &(?={_ENTITY})
    | ~(?=~) | =(?==\S) | %(?=%) | \^(?=\[)
    | (?<!\d)\$(?=\$|[^\s$](?:[^$]*[^\s$])?\$(?![0-9A-Za-z]))""",
    re.VERBOSE,
)
_WARY = re.compile(r"[\\`*_\[\]<>&~=$%!|]|\^(?=\[)|(?<=\]):")
_LINE_START = re.compile(
    r"""\#{1,6}(?=[ \t\n]|\Z)
    | > | ~~~ | \$\$
    | [-+*](?=[ \t\n]|\Z)
    | (\d{1,9})[.)](?=[ \t\n]|\Z)
    | (?:=+|-+|[|:-][-:|\ \t]*)(?=\n|\Z)
    | (?:_[ \t]*){3,}(?=\n|\Z)
    | \[(?=[^\]\n]+\]:)""",
    re.VERBOSE,
)
_URL = re.compile(r"(?:https?://|(?<![\w.])www\.)[^\s]+")
_AWKWARD = re.compile(r"[\s\x00-\x1f\x7f<>]")


def escape_text(text: str, before: str, after: str, *, wary: bool) -> str:
    """*text* as Markdown. before: the end of the block's output so far; after: the next character."""
    result = before
    parts = text.split("\n")
    for number, line in enumerate(parts):
        if number:
            result += "&#10;" if result.endswith("\n") else "\n"
        following = after if number == len(parts) - 1 else "\n"
        result += _with_backslashes(line, _escape_positions(line, result[-1:], following, wary=wary))
    return result[len(before) :]


def _escape_positions(line: str, previous: str, following: str, *, wary: bool) -> set[int]:
    context = previous + line + following
    start, end = len(previous), len(previous) + len(line)
    matched = {match.start() - start for match in (_WARY if wary else _LIGHT).finditer(context, start)}
    positions = {position for position in matched if position < len(line)}
    if not wary:
        positions -= _harmless_positions(line)
    if previous in ("", "\n") and (opening := _LINE_START.match(context, start)):
        position = opening.end(1) - start if opening[1] else 0
        positions |= {position} if position < end - start else set()
    return positions


def _harmless_positions(line: str) -> set[int]:
    """Positions that need no backslash: before a bracket that gets its own, and inside bare URLs."""
    before_bracket = {match.start() for match in re.finditer(r"!(?=\[)", line)}
    urls = (range(*match.span()) for match in _URL.finditer(line))
    return before_bracket | {position for url in urls for position in url if line[position] in "_~&=%<*`"}


def _with_backslashes(line: str, positions: set[int]) -> str:
    return "".join("\\" + char if index in positions else char for index, char in enumerate(line))


def write_destination(href: str) -> str:
    """The target of a link as written in parentheses."""
    text = _escape_literally(href)
    if _AWKWARD.search(href) or not _is_balanced(href):
        return "<" + text.replace("<", r"\<").replace(">", r"\>") + ">"
    return text


def write_title(text: str | None) -> str:
    """A title with a blank before it; empty if there is none."""
    return ' "' + _escape_literally(text).replace('"', r"\"") + '"' if text else ""


def _escape_literally(text: str) -> str:
    return re.sub(rf"\\(?={_PUNCTUATION})|&(?={_ENTITY})", r"\\\g<0>", text)


def _is_balanced(href: str) -> bool:
    depth = 0
    for char in href:
        depth += (char == "(") - (char == ")")
        if depth < 0:
            return False
    return depth == 0
