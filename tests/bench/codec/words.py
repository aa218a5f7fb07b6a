"""One word of a page is edited: whether the bytes of that word change and no others."""

import html
import random
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from mirrord.domain.dialect import Dialect
from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.read.reader import read_document
from mirrord.markdown.schema.document import Node
from mirrord.markdown.schema.normal_form import fingerprint, normalize
from mirrord.markdown.write.render import NewViews, render
from tests import corpora
from tests.bench.codec.report import Report, share, shortened
from tests.bench.figures import Figure, Goal

DIALECTS = Path(__file__).parents[2] / "cases" / "dialects"  # pages in the shapes of other programs
EDITS_OF_PAGE = 3  # of a real page
EDITS_OF_EXAMPLE = 2
_WORD = re.compile(r"[^\W_]{2,}")
_NEW_WORDS = ("changed", "two words", "Wörter", "a-b", "x1", "end.", "e.g.,")
_BLANKS = re.compile(" +")
_GOAL = Goal(99.5, at_least=True)
_VIEWS = NewViews(None, None, None, None, None, None)


@dataclass(frozen=True, slots=True)
class WordEdit:
    """
    A word of a text, replaced or with a word after it.

    node: the text, in its document. start, end: of the word. is_in_cell: the cell of a table may be padded again.
    """

    node: Node
    start: int
    end: int
    new: str
    is_in_cell: bool

    @property
    def old(self) -> str:
        """The word before."""
        return self.node["text"][self.start : self.end]


@dataclass(frozen=True, slots=True)
class Outcome:
    """
    What became of an edit, and a note of what changed besides.

    verdict: `exact`, `wider` or `refused`; `impossible` if the word alone would make another document: the text of
        `<https://example.org>` or of `[label]` is a target, too.
    """

    verdict: str
    note: str = ""


def measure(workers: Executor, seed: int) -> Report:
    """Edits of the vaults, the examples of the specifications, and every word of the pages of other programs."""
    report = Report()
    for vault in corpora.VAULTS:
        texts = [corpora.text_of(path) for path in corpora.paths(vault)]
        _count(report, vault, chain(*workers.map(_few_of_page, texts, [seed] * len(texts), chunksize=20)))
    for name, examples in (("CommonMark", corpora.commonmark()), ("GFM", corpora.gfm())):
        texts = [example.markdown for example in examples]
        _count(report, name, chain(*workers.map(_few_of_example, texts, [seed] * len(texts), chunksize=50)))
    pages = [path.read_text("utf-8") for path in sorted(DIALECTS.glob("*.md"))]
    _count(report, "pages of other programs", chain(*workers.map(every_word_edited, pages)))
    return report


def _count(report: Report, name: str, outcomes: Iterator[Outcome]) -> None:
    counted = list(outcomes)
    counts = Counter(outcome.verdict for outcome in counted)
    possible, title = len(counted) - counts["impossible"], f"one-word edits, {name}"
    report.figures += [
        Figure(f"{title}: only that word's bytes change", share(counts["exact"], possible), "%", _GOAL),
        Figure(f"{title}: more of its block changes", counts["wider"], f"of {possible:,}"),
        Figure(f"{title}: refused", counts["refused"], f"of {possible:,}"),
        Figure(f"{title}: cannot be made by the word alone", counts["impossible"], f"of {len(counted):,}"),
    ]
    report.notes += [f"{title}, {outcome.verdict}: {outcome.note}" for outcome in counted if outcome.note]


def _few_of_page(text: str, seed: int) -> list[Outcome]:
    return few_words_edited(text, seed, EDITS_OF_PAGE)


def _few_of_example(text: str, seed: int) -> list[Outcome]:
    return few_words_edited(text, seed, EDITS_OF_EXAMPLE)


def few_words_edited(text: str, seed: int, count: int, dialect: Dialect = Dialect.PLAIN) -> list[Outcome]:
    """The outcomes of *count* edits of the page *text*, which *seed* and the text decide."""
    chance = random.Random(seed + zlib.crc32(text.encode()))
    page, document = PageText(text, dialect), read_document(text, dialect)
    words = list(_words_of(document))
    chosen = chance.sample(words, min(count, len(words)))
    return [_outcome_of(page, document, replace(edit, new=_new_word(edit, chance))) for edit in chosen]


def every_word_edited(text: str) -> list[Outcome]:
    """The outcomes of an edit of each word of the page *text*."""
    page, document, chance = PageText(text), read_document(text), random.Random(len(text))
    return [_outcome_of(page, document, replace(edit, new=_new_word(edit, chance))) for edit in _words_of(document)]


def _new_word(edit: WordEdit, chance: random.Random) -> str:
    """Another word, the word with a letter typed behind it, or with a word after it."""
    new = chance.choice(_NEW_WORDS)
    return chance.choice([new, edit.old + "x", f"{edit.old} {new}"])


def _words_of(node: Node, is_in_cell: bool = False) -> Iterator[WordEdit]:
    for match in _WORD.finditer(node.get("text", "")):
        yield WordEdit(node, *match.span(), "", is_in_cell)
    for child in node.get("content", []):
        yield from _words_of(child, is_in_cell or node["type"] == "tableRow")


def _outcome_of(page: PageText, document: Node, edit: WordEdit) -> Outcome:
    text, before, old = page.text, edit.node["text"], edit.old
    edit.node["text"] = before[: edit.start] + edit.new + before[edit.end :]
    expected = deepcopy(document)
    edit.node["text"] = before
    try:
        result = render(page, frozenset(["content"]), replace(_VIEWS, content=expected), "Page").text
    except Damaged as refusal:
        verdict = "refused" if _can_be_word_alone(page, edit, expected) else "impossible"
        return Outcome(verdict, f"{old!r} → {edit.new!r}: {refusal}")
    compared = [_BLANKS.sub(" ", each) if edit.is_in_cell else each for each in (text, result)]
    removed, added = _difference(*compared)
    if _is_word_alone(compared[0], compared[1], edit) or (
        html.unescape(removed) in old and added.strip(" ") in edit.new
    ):
        return Outcome("exact")
    verdict = "wider" if _can_be_word_alone(page, edit, expected) else "impossible"
    return Outcome(verdict, f"{old!r} → {edit.new!r}: {shortened(removed)} → {shortened(added)}")


def _is_word_alone(text: str, result: str, edit: WordEdit) -> bool:
    """Whether *result* is *text* with the new word where the old one was."""
    places = (match.span() for match in re.finditer(re.escape(edit.old), text))
    return any(
        result.startswith(edit.new, start)
        and text[:start] == result[:start]
        and text[end:] == result[start + len(edit.new) :]
        for start, end in places
    )


def _can_be_word_alone(page: PageText, edit: WordEdit, expected: Node) -> bool:
    """Whether the new word in the place of some old one makes the *expected* document."""
    places = (match.span() for match in re.finditer(re.escape(edit.old), page.text))
    results = (page.text[:start] + edit.new + page.text[end:] for start, end in places)
    documents = (read_document(result, page.dialect) for result in results)
    return any(fingerprint(normalize(document)) == fingerprint(normalize(expected)) for document in documents)


def _difference(old: str, new: str) -> Sequence[str]:
    """What is left of both texts without what they begin and end with alike."""
    shorter = min(len(old), len(new))
    start = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    end = next((at for at in range(shorter - start) if old[-1 - at] != new[-1 - at]), shorter - start)
    return old[start : len(old) - end], new[start : len(new) - end]
