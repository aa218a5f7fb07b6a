"""A made-up vault for measurements: the same arguments give the same bytes. `python -m tests.bench.vault DIR PAGES`."""

import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

WORDS = (
    "anchor arrow autumn balance bridge candle canvas cargo cedar chapter cipher circle cloud compass copper coral "
    "current delta desert draft echo ember engine fabric feather field filter flame forest fossil garden glacier "
    "granite harbour harvest horizon island ivory jacket journal kernel ladder lantern ledger lesson linen magnet "
    "marble margin meadow meter mirror mortar nectar needle notebook orbit orchard oxide paper pebble pepper pilot "
    "plaster pocket prism quarry quartz ribbon river saddle sample signal silver socket spiral stone summit supply "
    "tablet tempo thread timber tunnel valley vapour vessel village violin voyage willow window winter"
).split()
FOREIGN = ("Übergröße", "façade", "Ελλάδα", "日本語", "naïveté", "Łódź", "🌿", "„Zitat“")
AREAS = ("Work", "Home", "Research", "Journal", "Library", "Travel", "Archive")
PAGES_A_FOLDER = 20


def generate(root: Path, pages: int, *, seed: int = 1, average_bytes: int = 3000) -> list[str]:
    """Write *pages* Markdown files below *root*; their paths relative to it."""
    paths = []
    for path, text in build(pages, seed=seed, average_bytes=average_bytes):
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
        paths.append(path)
    return paths


def build(pages: int, *, seed: int = 1, average_bytes: int = 3000) -> Iterator[tuple[str, str]]:
    """(path, text) of every page."""
    chance = random.Random(f"{seed}:{pages}:{average_bytes}")
    folders = _folders(chance, max(1, pages // PAGES_A_FOLDER))
    titles = [f"{_words(chance, 2).capitalize()} {number}" for number in range(pages)]
    indexed: set[str] = set()
    for title in titles:
        folder = folders[min(int(chance.expovariate(1.5) * len(folders) / 3), len(folders) - 1)]
        is_index = folder not in indexed and chance.random() < 0.3
        if is_index:
            indexed.add(folder)
        yield f"{folder}/{'_index' if is_index else title}.md", _page(chance, title, titles, average_bytes)


def _folders(chance: random.Random, count: int) -> list[str]:
    folders = dict.fromkeys(AREAS[:count])
    while len(folders) < count:
        above = chance.choice(list(folders))
        if above.count("/") < 4:
            folders[f"{above}/{_words(chance, 1).capitalize()} {len(folders)}"] = None
    return list(folders)


def _page(chance: random.Random, title: str, titles: list[str], average_bytes: int) -> str:
    size = max(300, chance.gauss(average_bytes, average_bytes / 3))
    parts = [_front_matter(chance, title), f"# {title}\n", _paragraph(chance, titles)]
    while sum(map(len, parts)) < size:
        make = chance.choices(list(_BLOCKS), weights=list(_BLOCKS.values()))[0]
        parts.append(make(chance, titles))
    return "\n".join(parts)


def _front_matter(chance: random.Random, title: str) -> str:
    lines = ["---", f"title: {title}"]
    if chance.random() < 0.8:
        lines.append(f"id: {UUID(int=chance.getrandbits(128), version=4)}")
    tags = ", ".join(chance.sample(WORDS, chance.randint(1, 3)))
    lines += [f"tags: [{tags}]", "rev: r0  # replaced by whoever measures an edit", "---", ""]
    return "\n".join(lines)


def _paragraph(chance: random.Random, titles: list[str]) -> str:
    sentences = [_sentence(chance, titles) for _ in range(chance.randint(2, 5))]
    return " ".join(sentences) + "\n"


def _sentence(chance: random.Random, titles: list[str]) -> str:
    words = [chance.choice(WORDS) for _ in range(chance.randint(6, 16))]
    at = chance.randrange(len(words))
    dress = chance.random()
    if dress < 0.15:
        words[at] = f"**{words[at]}**"
    elif dress < 0.25:
        words[at] = f"[[{chance.choice(titles)}]]"
    elif dress < 0.3:
        words[at] = f"[[{chance.choice(titles)}|{words[at]}]]"
    elif dress < 0.35:
        words[at] = chance.choice(FOREIGN)
    elif dress < 0.4:
        words[at] = f"`{words[at]}`"
    return " ".join(words).capitalize() + "."


def _heading(chance: random.Random, titles: list[str]) -> str:
    return f"## {_words(chance, 3).capitalize()}\n\n" + _paragraph(chance, titles)


def _list(chance: random.Random, titles: list[str]) -> str:
    return "".join(f"- {_sentence(chance, titles)}\n" for _ in range(chance.randint(3, 7)))


def _tasks(chance: random.Random, _: list[str]) -> str:
    return "".join(f"- [{chance.choice(' x')}] {_words(chance, 4)}\n" for _ in range(chance.randint(2, 5)))


def _table(chance: random.Random, _: list[str]) -> str:
    columns = chance.randint(2, 4)
    rows = [[chance.choice(WORDS) for _ in range(columns)] for _ in range(chance.randint(3, 6))]
    rows.insert(1, ["---"] * columns)
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _code(chance: random.Random, _: list[str]) -> str:
    name, number = chance.choice(WORDS), chance.randint(2, 99)
    return f"```python\ndef {name}(value):\n    return value * {number}\n```\n"


def _quote(chance: random.Random, titles: list[str]) -> str:
    return f"> {_sentence(chance, titles)}\n"


def _words(chance: random.Random, count: int) -> str:
    return " ".join(chance.choice(WORDS) for _ in range(count))


_BLOCKS: dict[Callable[[random.Random, list[str]], str], int] = {
    _paragraph: 40,
    _heading: 20,
    _list: 15,
    _tasks: 6,
    _table: 8,
    _code: 7,
    _quote: 4,
}


if __name__ == "__main__":
    written_pages = generate(Path(sys.argv[1]), int(sys.argv[2]))
    print(f"{len(written_pages)} pages")
