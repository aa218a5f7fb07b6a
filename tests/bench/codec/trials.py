"""Random single edits of pages: the page says afterwards what was wanted, and every other block keeps its bytes."""

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.page_text import PageText, split_lines, with_unix_endings
from mirrord.markdown.read.page_outline import Outline, outline_of
from mirrord.markdown.read.reader import read_document, read_nodes
from mirrord.markdown.schema.document import Node, make_document
from mirrord.markdown.schema.normal_form import fingerprint, normalize
from mirrord.markdown.schema.task_lists import with_task_lists
from mirrord.markdown.write.render import NewViews, render
from tests import corpora
from tests.bench.codec.anew import definitions
from tests.bench.codec.edits import KINDS, Edit, edit
from tests.bench.codec.report import NONE, Report, share, shortened
from tests.bench.figures import Figure, Goal
from tests.judge import gfm_html, loose, plain

LARGEST = 20_000  # bytes of a page; there are 9 larger ones
ATTEMPTS = 100_000  # tables are rare
_WANTED = NewViews(None, None, None, None, None, None)
_EMPTY = fingerprint({"type": "paragraph"})  # belongs to the gaps
_NUMBER = re.compile(r"^((?:> ?)*)\d{1,9}(?=[.)](?:[ \t]|$))")
_NESTED = (" an item", " a row")


@dataclass(frozen=True, slots=True)
class Outcome:
    """
    What became of one edit.

    wrong: what is not as it should be, "" if nothing; refusal: the codec's words, "" if it was done.
    tight: no line changed but those of the touched item or row, or none at all of a moved block; None where that
        is no question.
    """

    kind: str
    seed: int = 0
    place: str = ""
    wrong: str = ""
    refusal: str = ""
    tight: bool | None = None


def measure(workers: Executor, count: int, seed: int) -> Report:
    """*count* edits; the one numbered n is made from the seed *seed* + n and nothing else."""
    report, outcomes = Report(), list(workers.map(trial, range(seed, seed + count), chunksize=100))
    by_kind: Mapping[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        by_kind[outcome.kind].append(outcome)
    wrong = [each for each in outcomes if each.wrong]
    refused = [each for each in outcomes if each.refusal]
    report.figures = [
        Figure("edits: silent differences", len(wrong), f"of {len(outcomes):,}", NONE),
        Figure("edits: refused", share(len(refused), len(outcomes)) if outcomes else 0.0, "%"),
        *(figure for kind in KINDS if by_kind[kind] for figure in _of_kind(kind, by_kind[kind])),
    ]
    report.broken = [f"edit, seed {each.seed}, {each.kind}, {each.place}: {each.wrong}" for each in wrong]
    report.notes = [f"refused: seed {each.seed}, {each.kind}, {each.place}: {each.refusal}" for each in refused]
    return report


def _of_kind(kind: str, outcomes: Sequence[Outcome]) -> Iterator[Figure]:
    counts = Counter(bool(each.refusal) for each in outcomes)
    yield Figure(f"edits: {kind}, refused", share(counts[True], len(outcomes)), "%")
    judged = [each.tight for each in outcomes if each.tight is not None]
    if judged:
        goal = Goal(100.0, at_least=True)
        yield Figure(f"edits: {kind}, no other line changed", share(sum(judged), len(judged)), "%", goal)


def trial(seed: int, every: int = 1) -> Outcome:
    """The edit of a real page that *seed* stands for, made and checked; *every*: of fewer pages."""
    chance = random.Random(seed)
    kind = chance.choice(list(KINDS))
    path, text, change = _found(kind, _paths(every), chance)
    return replace(outcome_of(kind, text, change), seed=seed, place=str(path.relative_to(corpora.CORPORA)))


def outcome_of(kind: str, text: str, change: Edit) -> Outcome:
    """What becomes of the page *text* by an edit of that kind."""
    outcome = Outcome(kind)
    expected = make_document(list(change.content))
    try:
        result = render(PageText(text), frozenset(["content"]), replace(_WANTED, content=expected), stem="Page").text
    except Damaged as refusal:
        return replace(outcome, refusal=str(refusal))
    except Exception as error:  # a crash is an outcome too
        return replace(outcome, wrong=f"{type(error).__name__}: {error}")
    return replace(outcome, wrong=_wrong(text, change, result), tight=_is_tight(kind, text, change, result))


def _found(kind: str, paths: Sequence[Path], chance: random.Random) -> tuple[Path, str, Edit]:
    """A page, in one of its variants, that has something for an edit of this kind."""
    names = list(corpora.VARIANTS)
    for _ in range(ATTEMPTS):
        path, other = min(chance.choices(paths, k=2), key=_size), chance.choice(paths)  # rather small ones
        content = _content(path)
        if change := edit(kind, content, _content(other), chance):
            break
    else:
        raise LookupError(f"no page has something to {kind}")
    variant = chance.choice(names) if chance.random() < 0.3 else names[0]
    text = corpora.VARIANTS[variant](corpora.text_of(path))
    if (
        text != corpora.text_of(path) and read_document(text).get("content", []) != content
    ):  # blanks and tabs can change what a page says
        text = corpora.text_of(path)
    return path, text, change


@cache
def _paths(every: int) -> Sequence[Path]:
    everything = (path for vault in corpora.VAULTS for path in corpora.paths(vault, every))
    return [path for path in everything if _size(path) <= LARGEST]


@cache
def _size(path: Path) -> int:
    return path.stat().st_size


@cache
def _content(path: Path) -> Sequence[Node]:
    return read_document(corpora.text_of(path)).get("content", [])


@dataclass(frozen=True, slots=True)
class _Old:
    """A page before the edit: its blocks' bytes by what they mean, and whether the judge sees the same blocks."""

    blocks: Mapping[str, Sequence[str]]
    agreed: bool


@cache
def _old(text: str) -> _Old:
    page = outline_of(PageText(text).body)
    blocks: Mapping[str, list[str]] = defaultdict(list)
    for index, node in enumerate(read_nodes(page)):
        blocks[fingerprint(normalize(node))].append(page.source(index))
    return _Old(blocks, _agrees(page))


def _only_ended(before: PageText, after: PageText) -> bool:
    """Whether the front matter was the whole file, and got the line ending that a body needs above it."""
    return not before.body and before.bom == after.bom and after.head.rstrip("\r\n") == before.head


def _wrong(text: str, change: Edit, result: str) -> str:
    before, after = PageText(text), PageText(result)
    if (before.bom, before.head) != (after.bom, after.head) and not _only_ended(before, after):
        return "the front matter changed"
    new = outline_of(after.body)
    content = make_document(with_task_lists(change.content))  # boxes alone in a list are tasks
    expected, got = normalize(content), normalize(make_document(read_nodes(new)))
    if fingerprint(got) != fingerprint(expected):
        return f"the page says something else: {shortened(after.body)}"
    changed = _changed_blocks(_old(text).blocks, new, change)
    if len(changed) > change.moves:
        return f"another block changed: {changed[0]}"
    if _old(text).agreed and not _is_noted_twice(new) and not _agrees(new):
        return f"cmark sees other blocks: {shortened(after.body, 2000)}"
    return ""


def _changed_blocks(old: Mapping[str, Sequence[str]], new: Outline, change: Edit) -> list[str]:
    """Old blocks that lost their bytes though they were not edited; equal ones stand for each other."""
    present: Mapping[str, list[str]] = defaultdict(list)
    for index, node in enumerate(read_nodes(new)):
        present[fingerprint(normalize(node))].append(new.source(index))
    kept_counts = Counter(
        fingerprint(normalize(node))
        for node, place in zip(change.content, change.places, strict=True)
        if place is not None
    )
    lost = []
    for meaning, count in kept_counts.items():
        sources_present = [
            source for source in present[meaning] if any(_is_same(before, source) for before in old[meaning])
        ]
        if meaning != _EMPTY and len(sources_present) < count:
            lost_sources = (Counter(old[meaning]) - Counter(sources_present)).elements()
            lost += [shortened(each) for each in lost_sources if not _is_other(each, new, meaning)]
    return lost


def _is_same(before: str, after: str) -> bool:
    """Whether a block kept its bytes; a fence that only the end of the page had closed may have got its last line."""
    return before == after or (after.startswith(before) and set(after[len(before) :].strip()) in ({"`"}, {"~"}))


def _is_other(source: str, page: Outline, meaning: str) -> bool:
    """Whether a block has to be written anew to mean the same: the definitions it refers to changed."""
    meanings = [fingerprint(normalize(node)) for node in read_nodes(outline_of(source, page.surroundings))]
    return meanings != [meaning]


def _is_noted_twice(page: Outline) -> bool:
    """Whether a footnote is defined twice, at any depth: of the page the judge shows the first, of the pieces each."""
    labels = [str(node["attrs"]["label"]).casefold() for node in _nodes_of(read_nodes(page), "footnoteDef")]
    return len(set(labels)) < len(labels)


def _nodes_of(nodes: Sequence[Node], kind: str) -> Iterator[Node]:
    for node in nodes:
        if node["type"] == kind:
            yield node
        yield from _nodes_of(node.get("content", ()), kind)


def _notes(page: Outline) -> list[str]:
    """Definitions of footnotes, which the judge does not know."""
    return [page.source(index) for index, node in enumerate(read_nodes(page)) if node["type"] == "footnoteDef"]


def _agrees(page: Outline) -> bool:
    """Whether the judge, given one block after the other, sees what it sees in the whole page."""
    page_definitions = definitions(page) + "".join(map(_definition_of_link, _notes(page)))
    pieces = (plain(gfm_html(page_definitions + page.source(index))) for index in range(len(page.segments)))
    return loose(plain(gfm_html(page.body))) == loose("".join(pieces))


def _definition_of_link(note: str) -> str:
    """What the judge takes for the definition of a link: all of a note of one word, or the comment that begins one."""
    lines = note.split("\n")
    beginnings = ("\n".join(lines[:count]) for count in range(len(lines), 0, -1))
    return next((f"{beginning}\n\n" for beginning in beginnings if not gfm_html(beginning)), "")


def _is_tight(kind: str, text: str, change: Edit, result: str) -> bool | None:
    """Whether the lines that went or came are those of one item or row."""
    if change.moves:
        return not _changed_blocks(_old(text).blocks, outline_of(PageText(result).body), change)
    if not kind.endswith(_NESTED):
        return None
    old, new = _lines_of(text), _lines_of(result)
    if kind.startswith("move"):
        return not (old - new or new - old) or _is_renumbered(old - new, new - old)
    removed, added = old - new, new - old
    if kind.startswith("insert"):
        return not removed or _is_renumbered(removed, added)
    if kind.startswith("delete"):
        return not added or _is_renumbered(added, removed)
    return removed.total() == added.total() <= 1


def _lines_of(text: str) -> Counter[str]:
    """The lines of a page without blanks at their ends: a last line may have no line ending."""
    return Counter(line.strip() for line in split_lines(with_unix_endings(text)))


def _is_renumbered(few: Counter[str], many: Counter[str]) -> bool:
    """Whether *few* is one item with another number than in *many*: the first of a list, whose number is its start."""
    plain = Counter(_NUMBER.sub(r"\1", line) for line in many.elements())
    return few.total() == 1 and all(_NUMBER.sub(r"\1", line) in plain for line in few)
