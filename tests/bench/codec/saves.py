"""
What saving an edit costs beside deriving the document of its page, by kind of edit, over pages of the vaults.

Each kind is saved three times: in a page of which the process knows nothing, as after a start; in one that it has just
derived, as after an edit of the file; then in the result, as an editor saves again and again.
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
from mirrord.markdown.read.known_readings import LATEST_READINGS
from mirrord.markdown.schema.document import Node, make_document
from mirrord.markdown.write.render import NewViews, render
from mirrord.markdown.write.stored_form import values_to_store, values_to_store_before_saves
from tests import corpora
from tests.bench.codec.report import Report
from tests.bench.codec.structural_edits import KINDS
from tests.bench.figures import Figure, Goal

LARGEST = 20_000  # characters of a page
PAGES_APART = 12  # of the pages that are measured
BEST_OF = 3  # other programs make the machine slower, never quicker
_MIN_TEXT = 3  # characters of a text that gets another word
_GOAL = Goal(times=2)
_UNKNOWN, _DERIVED, _AGAIN = _ORDERS = ("saved", "saved after its derivation", "saved again")
_VIEWS = NewViews(None, None, None, None, None, None)

Edit = Callable[[list[Node], random.Random], object]


@dataclass(frozen=True, slots=True)
class Save:
    """Processor seconds of one save, and of deriving the document of its page. order: one of _ORDERS."""

    kind: str
    seconds: float
    derived_seconds: float
    order: str


def measure(workers: Executor, seed: int) -> Report:
    """Saves of each kind in every twelfth page of the vaults that has something for it: medians of both times."""
    texts = [corpora.text_of(path) for vault in corpora.VAULTS for path in corpora.paths(vault)]
    texts = [text for text in texts if 0 < len(text) <= LARGEST][::PAGES_APART]
    saves = list(chain(*workers.map(saves_of, texts, [seed] * len(texts), chunksize=20)))
    report = Report()
    for order in _ORDERS:
        medians = dict(_medians_of([save for save in saves if save.order == order]))
        report.figures += [_figure_of(f"{kind}, {order}", *times) for kind, times in medians.items()]
        ratio = statistics.median(seconds / derived_seconds for seconds, derived_seconds in medians.values())
        report.figures.append(Figure(f"{order}, times the derivation, median of the kinds", ratio, "×", Goal(2.0)))
    return report


def saves_of(text: str, seed: int) -> list[Save]:
    """The times of the saves of each kind in the page *text*, which *seed* and the text decide."""
    chance = random.Random(seed + zlib.crc32(text.encode()))
    return [save for kind in _EDITS for save in _saves_of_kind(kind, text, chance)]


def _saves_of_kind(kind: str, text: str, chance: random.Random) -> Iterator[Save]:
    """Saves in each order; none where the page has nothing for the kind, or Markdown cannot hold it."""
    content, derived_seconds = _derive(text)
    if not _EDITS[kind](content, chance):
        return
    edited = _Edited(PageText(text), replace(_VIEWS, content=make_document(content)))
    try:
        for order, prepare in ((_UNKNOWN, _know_nothing), (_DERIVED, lambda: _know_derivation(text))):
            yield Save(kind, _time_saves(prepare, edited), derived_seconds, order)
        next_text = _save(edited)
        content, derived_seconds = _derive(next_text)
        if not _EDITS[kind](content, chance):
            return
        next_edited = _Edited(PageText(next_text), replace(_VIEWS, content=make_document(content)))
        yield Save(kind, _time_saves(lambda: _know_save(edited), next_edited), derived_seconds, _AGAIN)
    except Damaged:
        return


@dataclass(frozen=True, slots=True)
class _Edited:
    page: PageText
    views: NewViews


def _derive(text: str) -> tuple[list[Node], float]:
    """The document of *text*, and the processor seconds that deriving it takes."""
    seconds = min(_seconds(lambda: values_to_store(text, None)) for _ in range(BEST_OF))
    content: list[Node] = orjson.loads(values_to_store(text, None)[0])["content"]
    return content, seconds


def _know_nothing() -> None:
    LATEST_READINGS.forget_all()


def _know_derivation(text: str) -> None:
    LATEST_READINGS.forget_all()
    values_to_store_before_saves(text, None)


def _know_save(edited: _Edited) -> None:
    LATEST_READINGS.forget_all()
    _save(edited)


def _time_saves(prepare: Callable[[], None], edited: _Edited) -> float:
    """Processor seconds of a save, each time after what *prepare* leaves known."""

    def act() -> float:
        prepare()
        return _seconds(lambda: _save(edited))

    return min(act() for _ in range(BEST_OF))


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
