"""
Structural edits of real pages: a paragraph split or joined, an item indented, outdented or moved.

Lines are compared without indent, signs of quotes and number: only those may go or come that the edit itself is about.
"""

import random
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import chain
from types import MappingProxyType

from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.page_text import PageText, split_lines
from mirrord.markdown.read.reader import read_document
from mirrord.markdown.schema.document import Node, make_document, text_node
from mirrord.markdown.write.render import NewViews, render
from tests import corpora
from tests.bench.codec.report import Report, share, shortened
from tests.bench.figures import Figure, Goal

LARGEST = 20_000  # characters of a page
_LISTS = ("bulletList", "orderedList", "taskList")
_VIEWS = NewViews(None, None, None, None, None, None)
_GOAL = Goal(99.0, at_least=True)
_NUMBER = re.compile(r"\d{1,9}(?=[.)] )")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of edit. removed, added: how many lines it may take away and add."""

    edit: Callable[[list[Node], random.Random], bool]
    removed: int = 0
    added: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an edit. verdict: `tight`, `wider` or `refused`. note: what changed besides, or why."""

    kind: str
    verdict: str
    note: str = ""


def measure(workers: Executor, seed: int) -> Report:
    """One edit of each kind in every page of the vaults that has something for it."""
    report = Report()
    for vault in corpora.VAULTS:
        texts = [corpora.text_of(path) for path in corpora.paths(vault)]
        texts = [text for text in texts if len(text) <= LARGEST]
        outcomes = list(chain(*workers.map(outcomes_of, texts, [seed] * len(texts), chunksize=20)))
        for kind in KINDS:
            counts = Counter(outcome.verdict for outcome in outcomes if outcome.kind == kind)
            name, judged = f"structural edits, {vault}: {kind}", counts["tight"] + counts["wider"]
            report.figures += [
                Figure(f"{name}, only its lines change", share(counts["tight"], judged), "%", _GOAL),
                Figure(f"{name}, refused", counts["refused"], f"of {counts.total():,}"),
            ]
        report.notes += [f"{vault}, {each.kind}, {each.verdict}: {each.note}" for each in outcomes if each.note]
    return report


def outcomes_of(text: str, seed: int) -> list[Outcome]:
    """The outcomes of one edit of each kind of the page *text*, which *seed* and the text decide."""
    chance = random.Random(seed + zlib.crc32(text.encode()))
    content = read_document(text)["content"]
    return [outcome for name in KINDS if (outcome := _outcome_of(name, text, deepcopy(content), chance))]


def _outcome_of(name: str, text: str, content: list[Node], chance: random.Random) -> Outcome | None:
    kind = KINDS[name]
    if not kind.edit(content, chance):
        return None
    views = replace(_VIEWS, content=make_document(content))
    try:
        result = render(PageText(text), frozenset(["content"]), views, "Page").text
    except Damaged as refusal:
        return Outcome(name, "refused", str(refusal))
    old, new = _lines_of(text), _lines_of(result)
    removed, added = old - new, new - old
    if removed.total() <= kind.removed and added.total() <= kind.added:
        return Outcome(name, "tight")
    return Outcome(name, "wider", f"{shortened(repr(list(removed)))} → {shortened(repr(list(added)))}")


def _lines_of(text: str) -> Counter[str]:
    lines = (_NUMBER.sub("1", line.lstrip(" \t>").rstrip(" \t\r\n")) for line in split_lines(text))
    return Counter(line for line in lines if line)


def _split(content: list[Node], chance: random.Random) -> bool:
    """Return is pressed before a word of a paragraph."""
    places = [
        (parent, index, at)
        for parent in _parents(content)
        for index, node in enumerate(parent)
        if node["type"] == "paragraph"
        for at, child in enumerate(node.get("content") or [])
        if re.search(r"\w \w", child.get("text", "")) and not child.get("marks")
    ]
    if not places:
        return False
    parent, index, at = chance.choice(places)
    children = parent[index]["content"]
    text = children[at]["text"]
    cut = chance.choice([match.start() + 1 for match in re.finditer(r"(?<=\w) (?=\w)", text)])
    before, after = [*children[:at], text_node(text[: cut - 1])], [text_node(text[cut:]), *children[at + 1 :]]
    parent[index : index + 1] = [{**parent[index], "content": before}, {"type": "paragraph", "content": after}]
    return True


def _join(content: list[Node], chance: random.Random) -> bool:
    """The second of two paragraphs goes on behind the first."""
    places = [
        (parent, index)
        for parent in _parents(content)
        for index in range(len(parent) - 1)
        if all(node["type"] == "paragraph" and node.get("content") for node in parent[index : index + 2])
    ]
    if not places:
        return False
    parent, index = chance.choice(places)
    first, second = parent[index : index + 2]
    parent[index : index + 2] = [{**first, "content": [*first["content"], text_node(" "), *second["content"]]}]
    return True


def _indent(content: list[Node], chance: random.Random) -> bool:
    """Tab is pressed in an item below another one."""
    places = [(node, at) for node in _lists(content) for at in range(1, len(node["content"]))]
    if not places:
        return False
    around, at = chance.choice(places)
    item, above = around["content"].pop(at), around["content"][at - 1]
    inside = above.setdefault("content", [])
    if inside and inside[-1]["type"] == around["type"]:  # as editors do: two lists there would need two signs
        inside[-1].setdefault("content", []).append(item)
    else:
        inside.append({"type": around["type"], "content": [item]})
    return True


def _outdent(content: list[Node], chance: random.Random) -> bool:
    """Shift and Tab are pressed in the last item of a list in an item."""
    places = [
        (outer, at)
        for outer in _lists(content)
        for at, item in enumerate(outer["content"])
        if (item.get("content") or [{"type": ""}])[-1]["type"] == outer["type"]
    ]
    if not places:
        return False
    outer, at = chance.choice(places)
    inner = outer["content"][at]["content"][-1]
    outer["content"].insert(at + 1, inner["content"].pop())
    if not inner["content"]:
        outer["content"][at]["content"].pop()
    return True


def _move(content: list[Node], chance: random.Random) -> bool:
    places = [node for node in _lists(content) if len(node["content"]) > 1]
    if not places:
        return False
    items = chance.choice(places)["content"]
    items.insert(0, items.pop())
    return True


def _lists(content: Sequence[Node]) -> Iterator[Node]:
    for node in content:
        if node["type"] in _LISTS and node.get("content"):
            yield node
        yield from _lists(node.get("content") or [])


def _parents(content: list[Node]) -> Iterator[list[Node]]:
    """Lists of blocks: of the page, of quotes and of items."""
    yield content
    for node in content:
        if node["type"] in ("blockquote", "callout", "listItem", "taskItem", *_LISTS) and node.get("content"):
            yield from _parents(node["content"])


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "split a paragraph": Kind(_split, removed=1, added=2),
        "join two paragraphs": Kind(_join, removed=2, added=1),
        "indent an item": Kind(_indent),
        "outdent an item": Kind(_outdent),
        "move an item": Kind(_move),
    }
)
