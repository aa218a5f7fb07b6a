"""Cutting a page into parts and joining them: for any bytes these are the page."""

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from pathlib import Path

from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.read.page_outline import outline_of
from tests import corpora
from tests.bench.codec.report import ALL, Report, share, shortened
from tests.bench.figures import Figure


def measure(workers: Executor) -> Report:
    """Over every page and example, in every variant."""
    report, total = Report(), 0
    for count, changed in workers.map(_of_texts, _batches()):
        total += count
        report.broken += changed
    joined_count = total - len(report.broken)
    report.figures = [
        Figure("untouched texts joined byte for byte", share(joined_count, total), "%", ALL),
        Figure("untouched texts", total, "texts"),
    ]
    return report


def joined(text: str) -> str:
    """*text* cut into its front matter, blocks and gaps, and put together again."""
    parts = PageText(text)
    page = outline_of(parts.body)
    blocks = (page.source(index) + page.gap(index) for index in range(len(page.segments)))
    return parts.bom + parts.head + page.gap(-1) + "".join(blocks)


def _batches() -> Iterator[Sequence[Path | str]]:
    paths: list[Path | str] = [path for vault in corpora.VAULTS for path in corpora.paths(vault)]
    examples: list[Path | str] = [each.markdown for each in corpora.commonmark() + corpora.gfm()]
    for everything in (paths, examples):
        yield from (everything[start : start + 50] for start in range(0, len(everything), 50))


def _of_texts(batch: Sequence[Path | str]) -> tuple[int, list[str]]:
    """How many texts there were, and those that changed."""
    count, changed = 0, []
    for each in batch:
        text = each if isinstance(each, str) else corpora.text_of(each)
        for name, variant in corpora.VARIANTS.items():
            count += 1
            if joined(variant(text)) != variant(text):
                where = shortened(each) if isinstance(each, str) else each.relative_to(corpora.CORPORA)
                changed.append(f"untouched, {name}: {where}")
    return count, changed
