"""Prefixes: what stands before the lines of a block in a quote, an item or a footnote, taken off and put back."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from mirrord.codec.cuts import Line
from mirrord.codec.document import Node
from mirrord.codec.style import Style
from mirrord.codec.writer import write
from mirrord.errors import Damaged

TAB = 4  # columns between tab stops
_QUOTE = re.compile(r" {0,3}> ?")
_FOOTNOTE = re.compile(r"( {0,3}\[\^)([^\]]*)(\]:[ \t]*)")
_ITEM = re.compile(r"([ \t]*)([-+*]|\d{1,9}[.)])(?:([ \t]+)(?=\S)|[ \t]*\Z)")
BOX = re.compile(r"\[[ xX]\](?:[ \t]+|\Z)")
_MARKS = re.compile(r"(?:[ \t>]|(?:[-+*]|\d{1,9}[.)])(?=[ \t]))*")
_CODE = 5  # so many blanks after a marker are one, and the rest is the indent of code


@dataclass(frozen=True, slots=True)
class Frame:
    """
    A container's lines taken apart.

    lines: as they are. head: how many of them come before its content (a callout's title).
    first: what the content's first line begins with; rest: what the others do.
    inner: the content, one line for each line after the head.
    """

    lines: Sequence[str]
    head: int
    first: str
    rest: str
    inner: Sequence[str]

    def around(self, content: Sequence[Line]) -> list[Line]:
        """The container with other *content*, whose `at` counts `inner`; lines that stay keep their prefixes."""
        result = [Line(self.lines[at], at) for at in range(self.head)]
        for number, line in enumerate(content):
            if line.at is not None and (self.first == self.rest or (line.at == 0) == (number == 0)):
                result.append(Line(self.lines[self.head + line.at], self.head + line.at))
            else:
                result.append(Line(_joined(self.rest if number else self.first, line.text)))
        return result or [Line(self.first.rstrip())]


def _joined(prefix: str, text: str) -> str:
    if prefix.endswith(">") and text[:1] in ("\t", " "):
        prefix += " "  # which a quote takes away
    return prefix + text if text else prefix.rstrip()


@dataclass(frozen=True, slots=True)
class Marker:
    """What begins an item: blanks, `-` or a number with its delimiter, blanks, the box of a task."""

    lead: str
    sign: str
    space: str
    box: str = ""

    @property
    def first(self) -> str:
        """The prefix of the item's first line."""
        return self.lead + self.sign + self.space + self.box

    @property
    def rest(self) -> str:
        """The prefix of its other lines."""
        return " " * len((self.lead + self.sign + self.space).expandtabs(TAB))


def marker_of(line: str, *, task: bool) -> Marker:
    """
    What the item that begins with *line* is marked with; *task*: its box too.

    Raises:
        Damaged: it is not to be seen there.
    """
    found = _ITEM.match(line)
    if not found:
        raise Damaged("an item does not begin with its marker")
    lead, sign, space = found[1], found[2], found[3] or " "
    if len((lead + sign + space).expandtabs(TAB)) - len((lead + sign).expandtabs(TAB)) >= _CODE:
        space = space[0]
    box = BOX.match(line, len(lead + sign + space)) if task else None
    if task and not box:
        raise Damaged("a task does not begin with its box")
    return Marker(lead, sign, space, box[0] if box else "")


def marked(lines: Sequence[str], marker: Marker) -> Frame:
    """The frame of an item that begins with *marker*; no *lines*: of a new one."""
    if not lines:
        return Frame([], 0, marker.first, marker.rest, [])
    start = _with_columns(lines[0][len(marker.first) :], len(marker.first.expandtabs(TAB)))
    inner = [start, *(dedented(line, len(marker.rest)) for line in lines[1:])]
    return Frame(lines, 0, marker.first, marker.rest, inner)


def marked_anew(frame: Frame, content: Sequence[Line], marker: Marker) -> list[Line]:
    """The item with another *marker*; lines stay where their indent does."""
    same = frame.rest == marker.rest
    kept = [line if same and line.at != 0 else Line(line.text) for line in content]
    return replace(frame, first=marker.first, rest=marker.rest).around(kept)


def framed(node: Node, lines: Sequence[str]) -> Frame:
    """
    The frame of a quote, a callout or a footnote.

    Raises:
        Damaged: its lines cannot be taken apart.
    """
    if node["type"] == "footnoteDef":
        return _footnote(lines)
    head = 1 if node["type"] == "callout" else 0
    found = _QUOTE.match(lines[0])
    if not found:
        raise Damaged("a quote does not begin with its sign")
    return Frame(lines, head, found[0], found[0], [_unquoted(line) for line in lines[head:]])


def headed(frame: Frame, content: Sequence[Line], old: Node, new: Node) -> list[Line]:
    """*frame* around other *content*, its attributes (title, label) written anew where they changed."""
    if old.get("attrs") == new.get("attrs"):
        return frame.around(content)
    if new["type"] == "callout":
        title = write({"type": "callout", "attrs": new["attrs"]}, Style())
        return [Line(title), *frame.around(content)[1:]]
    label = new.get("attrs", {}).get("label")
    first = _FOOTNOTE.sub(lambda found: f"{found[1]}{label}{found[3]}", frame.first)
    return replace(frame, first=first).around([Line(line.text, line.at or None) for line in content])


def _footnote(lines: Sequence[str]) -> Frame:
    found = _FOOTNOTE.match(lines[0])
    if not found:
        raise Damaged("a footnote does not begin with its label")
    start = _with_columns(lines[0][found.end() :], len(found[0].expandtabs(TAB)))
    inner = [start, *(dedented(line, TAB) for line in lines[1:])]
    return Frame(lines, 0, found[0], " " * TAB, inner)


def _unquoted(line: str) -> str:
    found = _QUOTE.match(line)
    if not found:
        return line
    text = _with_columns(line[found.end() :], found.end())
    return text[1:] if found[0].endswith(">") and text.startswith(" ") else text


def _with_columns(text: str, column: int) -> str:
    """*text* from *column* on, with blanks for tabs around markers, whose width would be another at a line's start."""
    prefix = _MARKS.match(text) if "\t" in text and column % TAB else None
    if not prefix or not prefix[0].strip():
        return text
    end = prefix.end()
    return (" " * column + text[:end]).expandtabs(TAB)[column:] + text[end:]


def dedented(line: str, width: int) -> str:
    """*line* without its first *width* columns of blanks, or without all its blanks where they are fewer."""
    column = 0
    for index, char in enumerate(line):
        if column >= width or char not in " \t":
            return " " * max(column - width, 0) + (
                _with_columns(line[index:], column) if char != "\t" else line[index:]
            )
        column += TAB - column % TAB if char == "\t" else 1
    return ""
