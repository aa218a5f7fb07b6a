"""Every block of a page written anew: it has to mean the same to a parser that is not ours, or be refused."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.page_text import PageText, first_line_ending
from mirrord.markdown.inline.source_style import style_of
from mirrord.markdown.read.page_outline import Outline, outline_of
from mirrord.markdown.read.reader import read_document, read_nodes
from mirrord.markdown.schema.document import Node, make_document
from mirrord.markdown.schema.normal_form import fingerprint, normalize
from mirrord.markdown.write.block_writer import render_block
from mirrord.markdown.write.render import NewViews, render
from tests import corpora
from tests.bench.codec.report import ALL, NONE, Report, share, shortened
from tests.bench.figures import Figure
from tests.corpora import Example
from tests.judge import Html, commonmark_html, document_html, gfm_html, verdict

# where cmark-gfm departs from CommonMark 0.31.2: a parser from the codec's own family, set up without its dialect
_SECOND_JUDGE = MarkdownIt("commonmark")
_DIALECT = frozenset(["wikilink", "embed", "mathInline", "mathBlock", "footnoteRef", "footnoteDef", "callout"])


@dataclass(frozen=True, slots=True)
class Rewritten:
    """What became of one example, page or block: `same`, `spacing`, `different`, `refused` or `unjudged`."""

    outcome: str
    place: str
    before: str
    after: str


Rewrite = Callable[[str], str]


def measure_examples() -> Report:
    """CommonMark's and GFM's examples: each block anew in its style, and each example as a new page."""
    report = Report()
    for name, examples, html in (
        ("CommonMark", corpora.commonmark(), commonmark_html),
        ("GFM", corpora.gfm(), gfm_html),
    ):
        _count(report, f"{name}, anew", [rewritten(each, html, in_style) for each in examples], strict=True)
        _count(report, f"{name}, as new pages", [rewritten(each, html, as_new_page) for each in examples])
    return report


def measure_pages(workers: Executor) -> Report:
    """Each block of the vaults anew in its style, and each page as a new one."""
    report = Report()
    paths = [path for vault in corpora.VAULTS for path in corpora.paths(vault)]
    blocks = [each for page_blocks in workers.map(blocks_of, paths, chunksize=20) for each in page_blocks]
    _count(report, "real blocks, anew", blocks, strict=True)
    _count(report, "real pages, as new ones", list(workers.map(page_made_anew, paths, chunksize=20)))
    return report


def in_style(body: str) -> str:
    """
    *body* with every block written anew in the style it has, and the gaps it has unless blocks would run together.

    Raises:
        Damaged: a block is refused, or the page is not read back.
    """
    page = outline_of(body)
    expected_nodes = [normalize(node) for node in read_nodes(page)]
    pairs = zip(expected_nodes, page.segments, strict=True)
    sources = [render_block(node, style_of(segment.tokens or ()), page.surroundings) for node, segment in pairs]
    sources = [source.replace("\n", first_line_ending(body)) for source in sources]
    for widened in (False, True):
        result = _joined(page, sources, first_line_ending(body) * 2 if widened else "")
        if _meaning(read_nodes(outline_of(result))) == _meaning(expected_nodes):
            return result
    raise Damaged("the blocks written anew run together")


def as_new_page(body: str) -> str:
    """
    *body* as a page that an app made.

    Raises:
        Damaged: it is refused.
    """
    new_views = NewViews(
        None, None, None, None, None, read_document("\n" + body)
    )  # no front matter can begin on the second line
    return render(PageText(""), frozenset(["content"]), new_views, stem="Page").text.removeprefix("\n")


def _joined(page: Outline, sources: Sequence[str], min_gap: str) -> str:
    result = page.gap(-1)
    for index, source in enumerate(sources):
        last = index + 1 == len(sources)
        result += source + (page.gap(index) if last else max(page.gap(index), min_gap, key=len))
    return result


def _meaning(content: Sequence[Node]) -> str:
    return fingerprint(normalize(make_document(content)))


def rewritten(example: Example, html: Html, rewrite: Rewrite) -> Rewritten:
    """What becomes of an example."""
    place = f"example {example.number}"
    if html is commonmark_html and html(example.markdown) != example.html:
        html = _SECOND_JUDGE.render
    return _judged(place, example.markdown, html, rewrite)


def _judged(place: str, before: str, html: Html, rewrite: Rewrite) -> Rewritten:
    try:
        after = rewrite(before)
    except Damaged as refusal:
        return Rewritten("refused", place, before, str(refusal))
    return Rewritten(verdict(html(before), html(after)).value, place, before, after)


def page_made_anew(path: Path) -> Rewritten:
    """A page of a vault, written as an app writes a new one."""
    body = PageText(corpora.text_of(path)).body
    place = str(path.relative_to(corpora.CORPORA))
    if not is_plain(read_nodes(outline_of(body))):
        tried = _judged(place, body, lambda text: text, as_new_page)
        return Rewritten("refused" if tried.outcome == "refused" else "unjudged", place, body, tried.after)
    return _judged(place, body, document_html, as_new_page)


def blocks_of(path: Path) -> list[Rewritten]:
    """The blocks of a page, each written anew."""
    page = outline_of(PageText(corpora.text_of(path)).body)
    place = str(path.relative_to(corpora.CORPORA))
    return [_block(page, index, node, place) for index, node in enumerate(read_nodes(page))]


def _block(page: Outline, index: int, node: Node, place: str) -> Rewritten:
    before, style = page.source(index), style_of(page.segments[index].tokens or ())
    try:
        after = render_block(normalize(node), style, page.surroundings)
    except Damaged as refusal:
        return Rewritten("refused", place, before, str(refusal))
    if not is_plain([node]):
        return Rewritten("unjudged", place, before, after)
    page_definitions, in_place = (
        definitions(page),
        before + page.gap(index),
    )  # blank lines may belong to an open code block
    return Rewritten(
        verdict(gfm_html(page_definitions + in_place), gfm_html(page_definitions + after)).value, place, before, after
    )


def definitions(page: Outline) -> str:
    """Those of *page*, to be put before one of its blocks."""
    tokens = [segment.tokens or () for segment in page.segments]
    sources = [page.source(index) for index, block in enumerate(tokens) if block and block[0].type == "definition"]
    return "".join(f"{definition}\n\n" for definition in sources)


def is_plain(content: Sequence[Mapping[str, Any]]) -> bool:
    """Whether all of it is known to the judge too."""
    return all(
        node["type"] not in _DIALECT
        and all(mark["type"] != "highlight" for mark in node.get("marks", []))
        and "%%" not in str(node.get("attrs", {}).get("raw", ""))
        and is_plain(node.get("content", []))
        for node in content
    )


def _count(report: Report, name: str, rewritten: Sequence[Rewritten], *, strict: bool = False) -> None:
    counts = Counter(each.outcome for each in rewritten)
    judged = len(rewritten) - counts["unjudged"]
    same_bytes = sum(each.after == each.before for each in rewritten)
    report.figures += [
        Figure(f"{name}: same HTML", share(counts["same"], judged), "%", ALL if strict else None),
        Figure(f"{name}: only spacing of lists differs", counts["spacing"], f"of {judged:,}"),
        Figure(f"{name}: same bytes", share(same_bytes, len(rewritten)), "%"),
        Figure(f"{name}: refused", counts["refused"], f"of {len(rewritten):,}"),
        Figure(f"{name}: wrong", counts["different"], f"of {judged:,}", NONE),
    ]
    for each in rewritten:
        note = f"{name}, {each.place}: {shortened(each.before)} → {shortened(each.after)}"
        if each.outcome == "different":
            report.broken.append(f"wrong: {note}")
        elif each.outcome == "refused" or (strict and each.outcome == "spacing"):
            report.notes.append(f"{each.outcome}: {note}")
