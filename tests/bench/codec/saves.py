"""
What saving an edit costs beside deriving the document of its page, by kind of edit, over pages of the vaults.

Each kind is saved twice: in a page that no app saved before, then in the result, as an editor saves again and again.
"""

import random
import statistics
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from itertools import chain
from types import MappingProxyType

import orjson

from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.read.known_readings import WRITTEN_READINGS
from mirrord.markdown.schema.document import Node, make_document
from mirrord.markdown.write.render import NewViews, render
from mirrord.markdown.write.stored_form import values_to_store
from tests import corpora
from tests.bench.codec.report import Report
from tests.bench.codec.structural_edits import KINDS
from tests.bench.figures import Figure, Goal

LARGEST = 20_000  # characters of a page
PAGES_APART = 3  # of the pages that are measured
BEST_OF = 3  # other programs make the machine slower, never quicker
_MIN_TEXT = 3  # characters of a text that gets another word
_GOAL = Goal(times=2)
_VIEWS = NewViews(None, None, None, None, None, None)

Edit = Callable[[list[Node], random.Random], object]


@dataclass(frozen=True, slots=True)
class Save:
    """Processor seconds of one save, and of deriving the document of its page. is_next: it follows another save."""

    kind: str
    seconds: float
    derived_seconds: float
    is_next: bool


def measure(workers: Executor, seed: int) -> Report:
    """Saves of each kind in every third page of the vaults that has something for it: medians of both times."""
    texts = [corpora.text_of(path) for vault in corpora.VAULTS for path in corpora.paths(vault)]
    texts = [text for text in texts if 0 < len(text) <= LARGEST][::PAGES_APART]
    saves = list(chain(*workers.map(saves_of, texts, [seed] * len(texts), chunksize=20)))
    report = Report()
    for order in ("saved", "saved again"):
        medians = dict(_medians_of([save for save in saves if save.is_next == (order == "saved again")]))
        report.figures += [_figure_of(f"{kind}, {order}", *times) for kind, times in medians.items()]
        ratio = statistics.median(seconds / derived_seconds for seconds, derived_seconds in medians.values())
        report.figures.append(Figure(f"{order}, times the derivation, median of the kinds", ratio, "×", Goal(2.0)))
    return report


def saves_of(text: str, seed: int) -> list[Save]:
    """The times of the saves of each kind in the page *text*, which *seed* and the text decide."""
    chance = random.Random(seed + zlib.crc32(text.encode()))
    return [save for kind in _EDITS for save in _saves_of_kind(kind, text, chance)]


def _saves_of_kind(kind: str, text: str, chance: random.Random) -> Iterator[Save]:
    """A save, and the next of the same kind; none where the page has nothing for it, or Markdown cannot hold it."""
    before: list[_Edited] = []
    for _ in range(2):
        content, derived_seconds = _derive(text)
        if not _EDITS[kind](content, chance):
            return
        edited = _Edited(PageText(text), replace(_VIEWS, content=make_document(content)))
        try:
            seconds, text = min(_save_after(before, edited) for _ in range(BEST_OF))
        except Damaged:
            return
        yield Save(kind, seconds, derived_seconds, is_next=bool(before))
        before.append(edited)


@dataclass(frozen=True, slots=True)
class _Edited:
    page: PageText
    views: NewViews


def _derive(text: str) -> tuple[list[Node], float]:
    """The document of *text*, and the processor seconds that deriving it takes."""
    seconds = min(_seconds(lambda: values_to_store(text, None)) for _ in range(BEST_OF))
    content: list[Node] = orjson.loads(values_to_store(text, None)[0])["content"]
    return content, seconds


def _save_after(before: Sequence[_Edited], edited: _Edited) -> tuple[float, str]:
    """Processor seconds of a save after those *before*, and its text."""
    WRITTEN_READINGS.forget_all()
    for earlier in before:
        _save(earlier)
    began = time.process_time()
    text = _save(edited)
    return time.process_time() - began, text


def _save(edited: _Edited) -> str:
    return render(edited.page, frozenset(["content"]), edited.views, "Page").text


def _reword(content: list[Node], chance: random.Random) -> bool:
    """One text gets another word."""
    places = [node for node in _texts_in(content) if len(node["text"]) >= _MIN_TEXT]
    if not places:
        return False
    node = chance.choice(places)
    node["text"] = f"{node['text'][0]}word{node['text'][1:]}"
    return True


def _texts_in(content: Sequence[Node]) -> Iterator[Node]:
    for node in content:
        if node["type"] == "text":
            yield node
        elif node["type"] != "codeBlock":
            yield from _texts_in(node.get("content") or ())


_EDITS: Mapping[str, Edit] = MappingProxyType({"change a word": _reword, **{name: KINDS[name].edit for name in KINDS}})


def _medians_of(saves: Sequence[Save]) -> Iterator[tuple[str, tuple[float, float]]]:
    for kind in _EDITS:
        if times := [(save.seconds, save.derived_seconds) for save in saves if save.kind == kind]:
            by_ratio = sorted(times, key=lambda each: each[0] / each[1])
            yield kind, by_ratio[len(by_ratio) // 2]


def _figure_of(kind: str, seconds: float, derived_seconds: float) -> Figure:
    return Figure(f"{kind}, the page of the median", seconds * 1000, "ms", _GOAL, floor=derived_seconds * 1000)


def _seconds(act: Callable[[], object]) -> float:
    began = time.process_time()
    act()
    return time.process_time() - began
