"""What people wait for in the console when they look for pages: answers of a search and of the quick switcher."""

import random
import time
from collections.abc import Callable, Sequence

from mirrord.markdown.snippets import MAX_SNIPPET_SOURCE_CHARACTERS, snippet_of
from tests.bench.figures import Figure, Goal, percentile
from tests.bench.ground import PATIENCE, Ground
from tests.bench.vault import WORDS
from tests.support.harness import eventually
from tests.support.rows import Connection

ROUNDS = 40  # queries of each kind
LARGE_MS, HUGE_MS = 60.0, 150.0  # p95, below and from HUGE_PAGES on
HUGE_PAGES = 100_000
RESULTS = 20

_SEARCH = """
SELECT left(p.markdown, %(shown)s) FROM mirrord.search(%(query)s, %(most)s) AS s
  JOIN mirrord.page AS p ON p.tenant_id = mirrord.current_tenant() AND p.id = s.page_id"""
_TITLES = "SELECT title FROM mirrord.search(%(query)s, %(most)s, 0, true)"
_SUBSTRING = """
SELECT left(markdown, %(shown)s) FROM mirrord.page
 WHERE deleted_at IS NULL AND markdown ILIKE '%%' || %(query)s || '%%' ORDER BY updated_at DESC LIMIT %(most)s"""

Ask = Callable[[Connection, str], object]


def figures(ground: Ground) -> list[Figure]:
    """p95 of the answers, by kinds of queries; beside the search for one substring in all texts."""
    mirrord = ground.imported()
    app = mirrord.app
    eventually(lambda: not _count_due(app), "every word indexed", PATIENCE, pause=0.5)
    limit = HUGE_MS if ground.pages >= HUGE_PAGES else LARGE_MS
    chance = random.Random(ground.pages)
    titles = chance.sample([path.rpartition("/")[2].removesuffix(".md") for path in ground.paths], ROUNDS)
    common = [chance.choice(WORDS) for _ in range(ROUNDS)]
    queries_by_kind: dict[str, tuple[Ask, Sequence[str]]] = {
        "a word that most pages have": (_search, common),
        "three words": (_search, [" ".join(chance.sample(WORDS, 3)) for _ in titles]),
        "a phrase": (_search, [f'"{chance.choice(WORDS)} {chance.choice(WORDS)}"' for _ in titles]),
        "the words of a title": (_search, titles),
        "a misspelt word": (_search, [f"{word[:2]}x{word[2:]}" for word in common]),
        "a word and a tag": (_search, [f"{word} #{chance.choice(WORDS)}" for word in common]),
        "a word in a folder": (_search, [f"{word} path:{_folder(chance, ground.paths)}" for word in common]),
        "letters in the switcher": (_switch, [title[: chance.randint(3, 9)] for title in titles]),
        "letters within a word in the switcher": (_switch, [title.split()[0][1:] for title in titles]),
    }
    rows = [
        Figure(f"{kind}, p95", percentile(_times(app, ask, queries), 95), "ms", Goal(limit, gated=False))
        for kind, (ask, queries) in queries_by_kind.items()
    ]
    everything = [
        elapsed for ask, queries in queries_by_kind.values() for elapsed in _times(app, ask, queries[: ROUNDS // 4])
    ]
    bare = percentile(_times(app, _find_substring, [word[1:] + "zz" for word in common[:5]]), 95)
    return [Figure("queries of all kinds, p95", percentile(everything, 95), "ms", Goal(limit), bare), *rows]


def _count_due(app: Connection) -> int:
    row = app.execute("SELECT count(*) FROM mirrord.search_due").fetchone()
    return int(row[0]) if row else 0


def _folder(chance: random.Random, paths: Sequence[str]) -> str:
    return '"/' + chance.choice(paths).rpartition("/")[0] + '"'


def _times(app: Connection, ask: Ask, queries: Sequence[str]) -> list[float]:
    times = []
    for query in queries:
        begin = time.perf_counter()
        ask(app, query)
        times.append(1000 * (time.perf_counter() - begin))
    return times


def _search(app: Connection, query: str) -> object:
    """As the console does, snippets included."""
    values = {"query": query, "most": RESULTS, "shown": MAX_SNIPPET_SOURCE_CHARACTERS}
    return [snippet_of(text or "", query.split()) for (text,) in app.execute(_SEARCH, values).fetchall()]


def _switch(app: Connection, query: str) -> object:
    return app.execute(_TITLES, {"query": query, "most": RESULTS}).fetchall()


def _find_substring(app: Connection, query: str) -> object:
    values = {"query": query, "most": RESULTS, "shown": MAX_SNIPPET_SOURCE_CHARACTERS}
    return app.execute(_SUBSTRING, values).fetchall()
