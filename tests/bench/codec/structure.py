"""
Structural edits of real pages: of paragraphs, of items, of whole blocks, of the rows and columns of tables.

Lines are compared without indent, signs of quotes and number: only those may go or come that the edit itself is about.
An item that comes into another list takes the sign and the blanks of that list, because a list has one sign; and the
comment that keeps two lists apart is not counted, because a document has two lists only with it.
"""

import random
import re
import zlib
from collections import Counter
from concurrent.futures import Executor
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import chain

from mirrord.domain.dialect import Dialect
from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.page_text import PageText, split_lines
from mirrord.markdown.read.page_outline import LIST_SEPARATOR
from mirrord.markdown.read.reader import read_document
from mirrord.markdown.schema.document import Node, make_document
from mirrord.markdown.write.render import NewViews, render
from tests import corpora
from tests.bench.codec.report import Report, share, shortened
from tests.bench.codec.structural_edits import KINDS
from tests.bench.figures import Figure, Goal

LARGEST = 20_000  # characters of a page
_VIEWS = NewViews(None, None, None, None, None, None)
_GOAL = Goal(99.0, at_least=True)
_SIGN = re.compile(r"(?:[-+*]|\d{1,9}[.)])[ \t]+")
_NUMBER = re.compile(r"\d{1,9}(?=[.)] )")


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


def outcomes_of(text: str, seed: int, dialect: Dialect = Dialect.PLAIN) -> list[Outcome]:
    """The outcomes of one edit of each kind of the page *text*, which *seed* and the text decide."""
    chance = random.Random(seed + zlib.crc32(text.encode()))
    page, content = PageText(text, dialect), read_document(text, dialect)["content"]
    return [outcome for name in KINDS if (outcome := _outcome_of(name, page, deepcopy(content), chance))]


def _outcome_of(name: str, page: PageText, content: list[Node], chance: random.Random) -> Outcome | None:
    kind = KINDS[name]
    if not (place := kind.edit(content, chance)):
        return None
    most_removed, most_added = place if isinstance(place, tuple) else kind.extent
    views = replace(_VIEWS, content=make_document(content))
    try:
        result = render(page, frozenset(["content"]), views, "Page").text
    except Damaged as refusal:
        return Outcome(name, "refused", str(refusal))
    old, new = _lines_of(page.text), _lines_of(result)
    removed, added = old - new, new - old
    if kind.takes_sign and removed.total() == 1 and _without_signs(removed) == _without_signs(added):
        return Outcome(name, "tight")
    if removed.total() <= most_removed and added.total() <= most_added:
        return Outcome(name, "tight")
    return Outcome(name, "wider", f"{shortened(repr(list(removed)))} → {shortened(repr(list(added)))}")


def _lines_of(text: str) -> Counter[str]:
    lines = (_NUMBER.sub("1", line.lstrip(" \t>").rstrip(" \t\r\n")) for line in split_lines(text))
    return Counter(line for line in lines if line and line != LIST_SEPARATOR)


def _without_signs(lines: Counter[str]) -> list[str]:
    return sorted(_SIGN.sub("", line) for line in lines.elements())
