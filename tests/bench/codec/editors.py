"""
An ordinary editor, the real TipTap with StarterKit, tables, tasks and images, shows real pages and saves them.

Through the form for such editors (`mirrord.page_editor`), and without it, as `page.content` is.
"""

from collections import Counter
from collections.abc import Iterator

from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.read.reader import read_document
from mirrord.markdown.schema.document import Document, Node
from mirrord.markdown.starterkit.restored_document import from_starterkit
from mirrord.markdown.starterkit.shown_form import to_starterkit
from mirrord.markdown.write.render import splice_document
from tests import corpora
from tests.bench.codec.report import ALL, Report, share, shortened
from tests.bench.figures import Figure, Goal
from tests.support import node
from tests.support.tiptap import SOURCE, TipTap, running

TYPED = "x"
_GOAL = Goal(99.0, at_least=True)


def measure() -> Report:
    """Over every page and example; a note where the editor is not installed."""
    report = Report()
    if not (SOURCE / "node_modules").is_dir() or not node.is_current(SOURCE):
        report.notes.append(f"editors: not measured, `npm ci` in {SOURCE} installs the editor")
        return report
    counts = Counter[str]()
    with running(SOURCE) as tiptap:
        for text, is_page in _texts():
            _count(tiptap, text, counts, report)
            if is_page:
                _count_typed(tiptap, text, counts, report)
    total = counts["pages"]
    report.figures = [
        Figure("pages that an ordinary editor shows and saves without loss", share(counts["form"], total), "%", ALL),
        Figure("the same without the form for it", share(counts["bare"], total), "%"),
        Figure("a key typed in it changes one character", share(counts["exact"], counts["typed"]), "%", _GOAL),
        Figure("pages that it showed", total, "texts"),
    ]
    return report


def _texts() -> Iterator[tuple[str, bool]]:
    """Every page and example, and whether it is a page: a key in the label of a reference link changes more."""
    for vault in corpora.VAULTS:
        yield from ((corpora.text_of(path), True) for path in corpora.paths(vault))
    yield from ((example.markdown, False) for example in corpora.commonmark() + corpora.gfm())


def _count(tiptap: TipTap, text: str, counts: Counter[str], report: Report) -> None:
    page, content = PageText(text), read_document(text)
    counts["pages"] += 1
    counts["bare"] += _body_after(page, tiptap.save_as_ordinary_app(content)) == page.body
    form = to_starterkit(content)
    try:
        saved = from_starterkit(tiptap.save_as_ordinary_app(form, is_checked=True), content)
    except AssertionError as refusal:
        report.broken.append(f"editors, refused: {shortened(text)}: {refusal}")
        return
    if _body_after(page, saved) == page.body:
        counts["form"] += 1
    else:
        report.broken.append(f"editors, changed: {shortened(text)}")


def _count_typed(tiptap: TipTap, text: str, counts: Counter[str], report: Report) -> None:
    """Type a key at the beginning of a page."""
    page, content = PageText(text), read_document(text)
    form = to_starterkit(content)
    if not _begins_with_text(form):
        return
    typed = from_starterkit(tiptap.save_as_ordinary_app(form, TYPED, is_checked=True), content)
    body = _body_after(page, typed)
    counts["typed"] += 1
    if _is_one_character_more(page.body, body):
        counts["exact"] += 1
    else:
        report.notes.append(f"editors, a key: {shortened(page.body, 160)} → {shortened(body, 160)}")


def _body_after(page: PageText, saved: Document) -> str:
    try:
        return splice_document(page.body, saved, "\n")
    except Damaged as damaged:
        return f"refused: {damaged}"


def _begins_with_text(form: Document) -> bool:
    first: Node = form["content"][0]
    inline = first.get("content") or []
    return first["type"] in ("paragraph", "heading") and bool(inline) and inline[0].get("text", " ")[0].isalnum()


def _is_one_character_more(before: str, after: str) -> bool:
    at = next((k for k, (old, new) in enumerate(zip(before, after, strict=False)) if old != new), len(before))
    return any(
        after[k : k + 1] == TYPED and after[:k] + after[k + 1 :] == before for k in range(max(0, at - 1), at + 1)
    )
