"""How fast the codec is, in processor time of one core."""

import random
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import orjson

from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.inline.source_style import style_of
from mirrord.markdown.parser.dialect import make_plain_parser, parse
from mirrord.markdown.read.page_outline import outline_of
from mirrord.markdown.read.reader import read_nodes
from mirrord.markdown.schema.document import make_document, text_node
from mirrord.markdown.schema.normal_form import normalize
from mirrord.markdown.write.block_writer import render_block
from mirrord.markdown.write.render import NewViews, render
from mirrord.markdown.write.stored_form import values_to_store
from tests import corpora
from tests.bench.codec.report import Report
from tests.bench.codec.structural_edits import KINDS
from tests.bench.figures import Figure, Goal

LARGE, ORDINARY = 100_000, 5_000  # bytes of the pages to edit
ROUNDS = 9
BEST_OF = 3  # other programs make the machine slower, never quicker
BLOCKS = 2_000
LIST = 195_000  # bytes of a page that is one list
RESTRUCTURED = (  # pages, and kinds of structural edits
    ("list of 195 kB", "move an item"),
    ("list of 195 kB", "split a paragraph"),
    ("table of 40 kB", "insert a row"),
    ("table of 40 kB", "insert a column"),
    ("quote of 40 kB", "split a paragraph"),
    ("page of 100 kB", "move a block"),
)
_WANTED = NewViews(None, None, None, None, None, None)


def measure() -> Report:
    """Parsing and deriving a vault, rendering an edit, writing one block."""
    texts = [corpora.text_of(path) for path in corpora.paths("dendron-site")]
    return Report(
        [_parsing(texts), _deriving(texts), *_rendering(texts), _rewording(), *_restructuring(texts), _writing(texts)]
    )


def _parsing(texts: list[str]) -> Figure:
    """Beside the same parser without fast paths, in turns."""
    bodies, plain_parser = [PageText(text).body for text in texts], make_plain_parser()
    rounds = [
        (
            _seconds(lambda: [parse(body, {}) for body in bodies]),
            _seconds(lambda: [plain_parser.parse(body, {}) for body in bodies]),
        )
        for _ in range(BEST_OF)
    ]
    fast_seconds, plain_seconds = (min(seconds) for seconds in zip(*rounds, strict=True))
    megabytes = sum(map(_bytes, bodies)) / 1e6
    name = "pages parsed, with fast paths and without, dendron-site"
    return Figure(name, megabytes / fast_seconds, "MB/s", floor=megabytes / plain_seconds)


def _deriving(texts: list[str]) -> Figure:
    seconds = min(_seconds(lambda: [values_to_store(text, None) for text in texts]) for _ in range(BEST_OF))
    return Figure("documents and links derived, dendron-site", sum(map(_bytes, texts)) / seconds / 1e6, "MB/s")


def _rendering(texts: list[str]) -> Iterator[Figure]:
    for name, size in (("5 kB", ORDINARY), ("100 kB", LARGE)):
        text = _page(texts, size)
        content = orjson.loads(values_to_store(text, None)[0])["content"]  # with ids, as apps have it
        content[len(content) // 2] = {"type": "paragraph", "content": [text_node("an edited block")]}
        new_views = replace(_WANTED, content=make_document(content))
        act = partial(render, PageText(text), frozenset(["content"]), new_views, "Page")
        spans = [_seconds(act) * 1000 for _ in range(ROUNDS)]
        yield Figure(f"one changed block of a page of {name} rendered, p50", statistics.median(spans), "ms")


def _rewording() -> Figure:
    """One word of a long list changed, beside the derivation of its document."""
    text = _list(LIST)
    document = orjson.loads(values_to_store(text, None)[0])
    items = document["content"][0]["content"]
    items[len(items) // 2]["content"][0]["content"][0]["text"] = "another entry "
    new_views = replace(_WANTED, content=document)
    act = partial(render, PageText(text), frozenset(["content"]), new_views, "Page")
    spans = [_seconds(act) * 1000 for _ in range(BEST_OF)]
    derived = [_seconds(lambda: values_to_store(text, None)) * 1000 for _ in range(BEST_OF)]
    goal = Goal(300, times=2, gated=False)
    return Figure("one word of a list of 195 kB rendered", min(spans), "ms", goal, floor=min(derived))


def _restructuring(texts: list[str]) -> Iterator[Figure]:
    """Edits of the structure of large blocks, beside the derivation of their documents."""
    pages = {"list of 195 kB": _list(LIST), "table of 40 kB": _table(), "quote of 40 kB": _quote()}
    pages["page of 100 kB"] = _page(texts, LARGE)
    for page, kind in RESTRUCTURED:
        text = pages[page]
        content = orjson.loads(values_to_store(text, None)[0])["content"]
        if not KINDS[kind].edit(content, random.Random(3)):
            raise LookupError(f"there is nothing to {kind} in the {page}")
        new_views = replace(_WANTED, content=make_document(content))
        act = partial(render, PageText(text), frozenset(["content"]), new_views, "Page")
        spans = [_seconds(act) * 1000 for _ in range(BEST_OF)]
        derived = [_seconds(partial(values_to_store, text, None)) * 1000 for _ in range(BEST_OF)]
        yield Figure(f"{kind}, {page}, rendered", min(spans), "ms", Goal(times=2, gated=False), floor=min(derived))


def _table() -> str:
    rows = (f"| cell {number} | **b** {number} | some text {number} |\n" for number in range(1000))
    return "| a | b | c |\n|---|---|---|\n" + "".join(rows)


def _quote() -> str:
    return "".join(f"> line {number} of a quote with `code`\n>\n" for number in range(1000))


def _list(size: int) -> str:
    lines: list[str] = []
    while len(lines) * 58.5 < size:
        number = len(lines)
        lines += [
            f"- entry {number} with **bold** words and a [link](https://example.org/{number}) in it\n",
            f"    - nested {number}, `code` and some more plain text to fill the line\n",
            f"    - [[Page {number}]] *emphasis*\n",
        ]
    return "".join(lines)


def _writing(texts: list[str]) -> Figure:
    spans = [_seconds(write) * 1000 for write in _writers(texts)]
    return Figure("one block written and verified, p50", statistics.median(spans), "ms")


def _writers(texts: list[str]) -> Iterator[Callable[[], str]]:
    count = 0
    for text in texts[::7]:
        page = outline_of(PageText(text).body)
        for index, node in enumerate(read_nodes(page)):
            style = style_of(page.segments[index].tokens or ())
            yield partial(render_block, normalize(node), style, page.surroundings)
            count += 1
            if count == BLOCKS:
                return


def _page(texts: list[str], size: int) -> str:
    """Bodies of pages one after the other, about *size* bytes of them."""
    result = ""
    for text in texts:
        if _bytes(result) >= size:
            break
        result += PageText(text).body.strip("\n")[: size - len(result)] + "\n\n"
    return result


def _bytes(text: str) -> int:
    return len(text.encode())


def _seconds(act: Callable[[], object]) -> float:
    began = time.process_time()
    act()
    return time.process_time() - began
