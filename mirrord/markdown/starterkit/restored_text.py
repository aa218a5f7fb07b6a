"""
The inside of a paragraph that an editor with StarterKit wrote, with what it lacks. Pure.

Characters that stayed keep the marks that the editor lacks.
Forms that stayed are their nodes; forms that were edited are read again.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from mirrord.markdown.inline.inline_reader import merge_texts
from mirrord.markdown.inline.source_map import UnitKey
from mirrord.markdown.inline.unit_diff import changed_runs
from mirrord.markdown.schema.document import Mark, Node, text_node
from mirrord.markdown.starterkit.form_reading import KnownForms
from mirrord.markdown.starterkit.shown_form import is_shown_as_text, show_inline, shown_text, visible_marks

_NO_MARKS: frozenset[str] = frozenset()


@dataclass(slots=True)
class _Unit:
    """A character of *node*, or all of it. at: the number of the node."""

    key: UnitKey
    node: Node
    at: int


@dataclass(slots=True)
class _Part:
    """A character or an atom of the result. is_new: it may be part of a form that a person typed or moved here."""

    text: str
    node: Node
    marks: list[Mark]
    is_new: bool = False


def restore_text(old: Sequence[Node], new: Sequence[Node], forms: KnownForms) -> list[Node]:
    """The inline nodes *new*, written by the editor that was shown *old*, with what it lacks."""
    old_units, new_units = list(_units_of(map(show_inline, old), old)), list(_units_of(new, new))
    old_by_new = _match_units(old_units, new_units)
    atoms = _place_atoms(old_units, new_units, {before: at for at, before in old_by_new.items()}, forms)
    hidden = _hidden_marks(old_units, len(new_units), old_by_new)
    parts, at = list[_Part](), 0
    while at < len(new_units):
        if atom := atoms.get(at):
            parts.append(_Part("", atom[1], _restore_marks(atom[1], new_units[at].node)))
            at = atom[0]
            continue
        before = old_by_new.get(at)
        parts.append(_part_of(new_units[at], None if before is None else old_units[before].node, hidden[at]))
        at += 1
    return merge_texts(list(_nodes_of(parts, forms)))


def _units_of(displayed: Iterable[Node], content: Sequence[Node]) -> Iterator[_Unit]:
    """The units of *content* as it is *displayed*: one node for each."""
    for at, (form, node) in enumerate(zip(displayed, content, strict=True)):
        if "text" in form:
            yield from (_Unit((char, _NO_MARKS), node, at) for char in form["text"])
        elif form["type"] == "hardBreak":
            yield _Unit(("\n", _NO_MARKS), node, at)
        else:
            yield _Unit((f"{form['type']} {(form.get('attrs') or {}).get('src')}", _NO_MARKS), node, at)


def _match_units(old: Sequence[_Unit], new: Sequence[_Unit]) -> dict[int, int]:
    """The old unit that each new one was, by their numbers; units that are new are missing."""
    old_keys, new_keys = [unit.key for unit in old], [unit.key for unit in new]
    pairs, at, new_at = dict[int, int](), 0, 0
    for hunk in [*changed_runs(old_keys, new_keys), None]:
        end = hunk.start if hunk else len(old_keys)
        pairs |= zip(range(new_at, new_at + end - at), range(at, end), strict=True)
        if hunk:
            at, new_at = hunk.end, hunk.new_end
    return pairs


def _place_atoms(
    old: Sequence[_Unit], new: Sequence[_Unit], new_by_old: Mapping[int, int], forms: KnownForms
) -> dict[int, tuple[int, Node]]:
    """For the first new unit of each form: the number behind its last one, and the node that it stands for."""
    result: dict[int, tuple[int, Node]] = {}
    for _, group in groupby(range(len(old)), key=lambda number: old[number].at):
        numbers = list(group)
        node = old[numbers[0]].node
        if "text" in node or not is_shown_as_text(node):
            continue
        first, last = new_by_old.get(numbers[0]), new_by_old.get(numbers[-1])
        if first is None or last is None:
            continue
        written = new[first : last + 1]
        if all("text" in unit.node for unit in written):
            text = "".join(unit.key[0] for unit in written)
            form = node if text == shown_text(node) else forms.read(node, text)
        else:  # a line break of the form that the editor made hard, or an image inside the form
            form = node if [unit.key for unit in written] == [old[number].key for number in numbers] else None
        if form is not None:
            result[first] = last + 1, Node(**{**node, **form})
    return result


def _hidden_marks(old: Sequence[_Unit], count: int, old_by_new: Mapping[int, int]) -> list[list[Mark]]:
    """For each of *count* new units the marks that the editor lacks and that the old units on both sides have."""
    behind: list[Node | None] = [None] * (count + 1)
    for at in range(count - 1, -1, -1):
        behind[at] = old[old_by_new[at]].node if at in old_by_new else behind[at + 1]
    result: list[list[Mark]] = []
    before: Node | None = None
    for at in range(count):
        after = behind[at]
        result.append(_common_hidden(before, after) if before and after and at not in old_by_new else [])
        before = old[old_by_new[at]].node if at in old_by_new else before
    return result


def _common_hidden(before: Node, after: Node) -> list[Mark]:
    if "marks" not in before or "marks" not in after:
        return []
    visible = visible_marks(before)
    return [mark for mark in before["marks"] if mark not in visible and mark in after["marks"]]


def _part_of(unit: _Unit, old: Node | None, hidden: Sequence[Mark]) -> _Part:
    """The part for a new *unit*. old: the node that it was in. hidden: marks of what is around a unit that is new."""
    is_text = "text" in unit.node
    text = unit.key[0] if is_text else ""
    if old is None or ("text" not in old and is_text):  # new, or left of a form
        marks = unit.node.get("marks") or []
        names = {mark["type"] for mark in marks}
        return _Part(text, unit.node, [*(mark for mark in hidden if mark["type"] not in names), *marks], is_text)
    node = _with_attributes(unit.node, old) if old["type"] == unit.node["type"] and not is_text else unit.node
    return _Part(text, node, _restore_marks(old, unit.node))


def _restore_marks(old: Node, new: Node) -> list[Mark]:
    """The marks of *new*, with those of *old* that the editor lacks, and what it lacks of others."""
    visible_types = {mark["type"] for mark in visible_marks(old)}
    new_marks = {mark["type"]: mark for mark in new.get("marks") or ()}
    result: list[Mark] = []
    for mark in old.get("marks") or ():
        new_mark = new_marks.pop(mark["type"], None)
        if new_mark is not None:
            result.append(_with_mark_attributes(new_mark, mark))
        elif mark["type"] not in visible_types:
            result.append(mark)
    return [*result, *new_marks.values()]


def _with_attributes(new: Node, old: Node) -> Node:
    attrs = {**(old.get("attrs") or {}), **(new.get("attrs") or {})}
    return {**new, "attrs": attrs} if attrs else new


def _with_mark_attributes(new: Mark, old: Mark) -> Mark:
    attrs = {**(old.get("attrs") or {}), **(new.get("attrs") or {})}
    return {"type": new["type"], "attrs": attrs} if attrs else new


def _nodes_of(parts: Sequence[_Part], forms: KnownForms) -> Iterator[Node]:
    for (is_text, is_new, marks), group in groupby(parts, key=lambda part: (bool(part.text), part.is_new, part.marks)):
        if not is_text:
            yield from (_with_marks(part.node, marks) for part in group)
            continue
        text = "".join(part.text for part in group)
        if not is_new or {"type": "code"} in marks:
            yield text_node(text, marks)
            continue
        for form in forms.split(text):
            yield text_node(form, marks) if isinstance(form, str) else _with_marks(form, marks)


def _with_marks(node: Node, marks: Sequence[Mark]) -> Node:
    result: Node = {**node, "marks": list(marks)}
    if not marks:
        del result["marks"]
    return result
