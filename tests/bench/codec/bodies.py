"""
Pages that packages ship, by other hands than the two vaults': words and structure edited, by the dialect of each body.

`python -m tests.bench.codec.bodies` fetches the packages into a cache outside the checkout; a body that is not there is
passed over.
"""

import os
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import chain, repeat
from pathlib import Path

from mirrord.domain.dialect import Dialect
from tests.bench.codec import structure, words
from tests.bench.codec.report import Report, share
from tests.bench.figures import Figure, Goal

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mirrord" / "bodies"
LARGEST = 15_000  # characters of a page
PAGES = 150  # of a body
_NPM, _PIP = (
    ("npm", "pack", "--silent"),
    (sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary=:all:"),
)
_WORDS_GOAL, _STRUCTURE_GOAL = Goal(99.5, at_least=True), Goal(99.0, at_least=True)


@dataclass(frozen=True, slots=True)
class Body:
    """The pages of a package. command: what fetches its archive. suffix: of their names."""

    name: str
    command: Sequence[str]
    package: str
    suffix: str
    dialect: Dialect


BODIES: Sequence[Body] = (
    Body("ai, MDX", _NPM, "ai@6.0.326", ".mdx", Dialect.DOCUSAURUS),
    Body("next, Markdown", _NPM, "next@16.4.6", ".md", Dialect.DOCUSAURUS),
    Body("hatch, MkDocs", _PIP, "hatch==1.18.2", ".md", Dialect.MKDOCS),
    Body("starlette, MkDocs", _PIP, "starlette==1.10.0", ".md", Dialect.MKDOCS),
    Body("jupyterhub, MyST", _PIP, "jupyterhub==6.1.1", ".md", Dialect.PLAIN),
)


def measure(workers: Executor, seed: int) -> Report:
    """Three words and one structural edit of each kind in the pages of the bodies that are in the cache."""
    report = Report()
    for body in BODIES:
        texts = list(_pages_of(body))[:PAGES]
        if not texts:
            report.notes.append(f"{body.name} is not in {CACHE}: python -m tests.bench.codec.bodies fetches it")
            continue
        edited = Counter(
            each.verdict
            for each in chain(*workers.map(_words_of_page, texts, repeat(seed), repeat(body.dialect), chunksize=10))
        )
        outcomes = list(
            chain(*workers.map(structure.outcomes_of, texts, repeat(seed), repeat(body.dialect), chunksize=10))
        )
        shaped = Counter(each.verdict for each in outcomes)
        report.figures += _figures_of(body, len(texts), edited, shaped)
        report.notes += [f"{body.name}, {each.kind}, {each.verdict}: {each.note}" for each in outcomes if each.note]
    return report


def _figures_of(body: Body, count: int, edited: Counter[str], shaped: Counter[str]) -> Iterator[Figure]:
    possible, judged = edited.total() - edited["impossible"], shaped["tight"] + shaped["wider"]
    name = f"{body.name}, {count} pages"
    yield Figure(f"{name}: only that word's bytes change", share(edited["exact"], possible), "%", _WORDS_GOAL)
    yield Figure(f"{name}: structural edits, only their lines", share(shaped["tight"], judged), "%", _STRUCTURE_GOAL)
    yield Figure(f"{name}: refused", edited["refused"] + shaped["refused"], f"of {possible + shaped.total():,}")


def _words_of_page(text: str, seed: int, dialect: Dialect) -> list[words.Outcome]:
    return words.few_words_edited(text, seed, words.EDITS_OF_PAGE, dialect)


def _pages_of(body: Body) -> Iterator[str]:
    """The pages of *body* in the order of their names; none if it was not fetched."""
    for archive in sorted(_folder_of(body).glob("*gz")):
        with tarfile.open(archive) as members:
            for member in sorted(members.getmembers(), key=lambda member: member.name):
                file = members.extractfile(member) if member.name.endswith(body.suffix) else None
                text = file.read().decode(errors="replace") if file else ""
                if 0 < len(text) <= LARGEST:
                    yield text


def _folder_of(body: Body) -> Path:
    return CACHE / body.package


def fetch() -> None:
    """Fetch the archives that are not in the cache."""
    for body in BODIES:
        folder = _folder_of(body)
        if not any(folder.glob("*gz")):
            folder.mkdir(parents=True, exist_ok=True)
            subprocess.run([*body.command, body.package], cwd=folder, check=False)


if __name__ == "__main__":
    fetch()
