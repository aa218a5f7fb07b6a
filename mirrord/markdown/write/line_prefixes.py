"""The prefixes of lines inside quotes, list items and footnotes: removing and restoring them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from mirrord.errors import Damaged
from mirrord.markdown.inline.source_style import Style
from mirrord.markdown.schema.document import Node
from mirrord.markdown.write.block_parts import Line
from mirrord.markdown.write.block_writer import write_block

TAB_COLUMNS = 4  # columns between tab stops
_QUOTE = re.compile(r" {0,3}> ?")
_FOOTNOTE = re.compile(r"( {0,3}\[\^)([^\]]*)(\]:[ \t]*)")
_ITEM = re.compile(r"([ \t]*)([-+*]|\d{1,9}[.)])(?:([ \t]+)(?=\S)|[ \t]*\Z)")
TASK_BOX = re.compile(r"\[[ xX]\](?:[ \t]+|\Z)")
_NESTED_MARKERS = re.compile(r"(?:[ \t>]|(?:[-+*]|\d{1,9}[.)])(?=[ \t]))*")
_CODE_BLANKS = 5  # blanks after a marker from which on one belongs to the marker and the others indent code


@dataclass(frozen=True, slots=True)
class Frame:
    """
    A container's lines taken apart.

    lines: the original lines. head_lines: number of lines before the content (a callout's title).
    first_prefix: prefix of the content's first line; rest: prefix of its other lines.
    inner: the content without prefixes, one line for each line after the head.
    """

    lines: Sequence[str]
    head_lines: int
    first_prefix: str
    other_prefix: str
    inner: Sequence[str]

    def wrap_content(self, content: Sequence[Line]) -> list[Line]:
        """The container with other *content*, whose `at` counts `inner`; unchanged lines keep their prefixes."""
        result = [Line(self.lines[at], at) for at in range(self.head_lines)]
        for number, line in enumerate(content):
            if line.at is not None and (self.first_prefix == self.other_prefix or (line.at == 0) == (number == 0)):
                result.append(Line(self.lines[self.head_lines + line.at], self.head_lines + line.at))
            elif prefix := self._old_prefix(line.replaced, number):
                result.append(Line(prefix + line.text, replaced=self.head_lines + (line.replaced or 0)))
            else:
                result.append(Line(_join_prefix(self.other_prefix if number else self.first_prefix, line.text)))
        return result or [Line(self.first_prefix.rstrip())]

    def _old_prefix(self, replaced: int | None, number: int) -> str:
        """The prefix of the old line that is *replaced* by line *number* of the content; empty if it does not fit."""
        if replaced is None or (self.first_prefix != self.other_prefix and (replaced == 0) != (number == 0)):
            return ""
        line, inner = self.lines[self.head_lines + replaced], self.inner[replaced]
        return line.removesuffix(inner) if inner.strip() and line.endswith(inner) else ""


def _join_prefix(prefix: str, text: str) -> str:
    if prefix.endswith(">") and text[:1] in ("\t", " "):
        prefix += " "  # a quote strips one blank
    return prefix + text if text else prefix.rstrip()


@dataclass(frozen=True, slots=True)
class Marker:
    """The start of an item: blanks, `-` or a number with its delimiter, blanks, the box of a task."""

    lead: str
    sign: str
    space: str
    box: str = ""

    @property
    def first_prefix(self) -> str:
        """The prefix of the item's first line."""
        return self.lead + self.sign + self.space + self.box

    @property
    def other_prefix(self) -> str:
        """The prefix of its other lines."""
        return " " * len((self.lead + self.sign + self.space).expandtabs(TAB_COLUMNS))


def marker_of(line: str, *, task: bool) -> Marker:
    """
    The marker of the item that begins with *line*; *task*: with its box.

    Raises:
        Damaged: the line does not begin with a marker.
    """
    match = _ITEM.match(line)
    if not match:
        raise Damaged("an item does not begin with its marker")
    lead, sign, space = match[1], match[2], match[3] or " "
    if len((lead + sign + space).expandtabs(TAB_COLUMNS)) - len((lead + sign).expandtabs(TAB_COLUMNS)) >= _CODE_BLANKS:
        space = space[0]
    box = TASK_BOX.match(line, len(lead + sign + space)) if task else None
    if task and not box:
        raise Damaged("a task does not begin with its box")
    return Marker(lead, sign, space, box[0] if box else "")


def frame_of_item(lines: Sequence[str], marker: Marker) -> Frame:
    """The frame of an item that begins with *marker*; no *lines*: a new item."""
    if not lines:
        return Frame([], 0, marker.first_prefix, marker.other_prefix, [])
    start = _with_columns(lines[0][len(marker.first_prefix) :], len(marker.first_prefix.expandtabs(TAB_COLUMNS)))
    inner = [start, *(dedent(line, len(marker.other_prefix)) for line in lines[1:])]
    return Frame(lines, 0, marker.first_prefix, marker.other_prefix, inner)


def replace_marker(frame: Frame, content: Sequence[Line], marker: Marker) -> list[Line]:
    """The item with another *marker*; lines are kept if their indent does not change."""
    same = frame.other_prefix == marker.other_prefix
    lines = [line if same and 0 not in (line.at, line.replaced) else Line(line.text) for line in content]
    return replace(frame, first_prefix=marker.first_prefix, other_prefix=marker.other_prefix).wrap_content(lines)


def frame_of_container(node: Node, lines: Sequence[str]) -> Frame:
    """
    The frame of a quote, a callout or a footnote.

    Raises:
        Damaged: its lines cannot be taken apart.
    """
    if node["type"] == "footnoteDef":
        return _footnote_frame(lines)
    head = 1 if node["type"] == "callout" else 0
    match = _QUOTE.match(lines[0])
    if not match:
        raise Damaged("a quote does not begin with its sign")
    return Frame(lines, head, match[0], match[0], [_unquote(line) for line in lines[head:]])


def replace_content(frame: Frame, content: Sequence[Line], old: Node, new: Node) -> list[Line]:
    """*frame* around other *content*; changed attributes (title, label) are rewritten."""
    if old.get("attrs") == new.get("attrs"):
        return frame.wrap_content(content)
    if new["type"] == "callout":
        title = write_block({"type": "callout", "attrs": new["attrs"]}, Style())
        return [Line(title), *frame.wrap_content(content)[1:]]
    label = new.get("attrs", {}).get("label")
    first = _FOOTNOTE.sub(lambda match: f"{match[1]}{label}{match[3]}", frame.first_prefix)
    return replace(frame, first_prefix=first).wrap_content([Line(line.text, line.at or None) for line in content])


def _footnote_frame(lines: Sequence[str]) -> Frame:
    match = _FOOTNOTE.match(lines[0])
    if not match:
        raise Damaged("a footnote does not begin with its label")
    start = _with_columns(lines[0][match.end() :], len(match[0].expandtabs(TAB_COLUMNS)))
    inner = [start, *(dedent(line, TAB_COLUMNS) for line in lines[1:])]
    return Frame(lines, 0, match[0], " " * TAB_COLUMNS, inner)


def _unquote(line: str) -> str:
    match = _QUOTE.match(line)
    if not match:
        return line
    text = _with_columns(line[match.end() :], match.end())
    return text[1:] if match[0].endswith(">") and text.startswith(" ") else text


def _with_columns(text: str, column: int) -> str:
    """*text* from *column* on; tabs around markers become blanks, since their width depends on the column."""
    prefix = _NESTED_MARKERS.match(text) if "\t" in text and column % TAB_COLUMNS else None
    if not prefix or not prefix[0].strip():
        return text
    end = prefix.end()
    return (" " * column + text[:end]).expandtabs(TAB_COLUMNS)[column:] + text[end:]


def dedent(line: str, width: int) -> str:
    """*line* without its first *width* columns of blanks, or without all its blanks if there are fewer."""
    column = 0
    for index, char in enumerate(line):
        if column >= width or char not in " \t":
            return " " * max(column - width, 0) + (
                _with_columns(line[index:], column) if char != "\t" else line[index:]
            )
        column += TAB_COLUMNS - column % TAB_COLUMNS if char == "\t" else 1
    return ""
