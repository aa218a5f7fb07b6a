"""
Front matter: a key changed and changed back leaves the file as it was, byte for byte.

How a text over several lines (`|`, `>`) was broken, and which word was used for null, cannot be known any more once
it was replaced: such keys are counted by themselves.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from types import MappingProxyType

from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.page_properties import (
    REMOVED,
    Json,
    is_same_json,
    read_values,
    with_keys,
)
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.frontmatter.yaml_reader import Property, read_properties
from tests import corpora
from tests.bench.codec.report import ALL, Report, share, shortened
from tests.bench.figures import Figure, Goal

LEAST = 3_000  # heads


@dataclass(frozen=True, slots=True)
class Round:
    """One key there and back. outcome: `restored`, `refused`, `unread` or what went wrong; free: see above."""

    place: str
    outcome: str
    head: str
    free: bool = False

    @property
    def flagged(self) -> bool:
        """Whether it was not done, and that was said."""
        return self.outcome.startswith(("refused", "unread"))

    @property
    def lost(self) -> bool:
        """Whether bytes changed that should not have."""
        return self.outcome != "restored" and not self.free and not self.flagged


def measure(workers: Executor) -> Report:
    """Every real head in three of its variants, one key each."""
    paths = [path for vault in corpora.VAULTS for path in corpora.paths(vault)]
    rounds = [each for page_rounds in workers.map(rounds_of, paths, chunksize=50) for each in page_rounds]
    report = Report()
    report.figures = [
        _restored("front matter: one key there and back", [each for each in rounds if not each.free], ALL),
        _restored("front matter: the same where the spelling is free", [each for each in rounds if each.free]),
        Figure("front matter: heads tried", len(rounds), "heads", Goal(LEAST, at_least=True)),
        *(
            Figure(f"front matter: {name}", _count(rounds, name), f"of {len(rounds):,}")
            for name in ("refused", "unread")
        ),
    ]
    for each in rounds:
        if each.outcome != "restored":
            note = f"front matter, {each.place}: {each.outcome}: {shortened(each.head, 600)}"
            (report.broken if each.lost else report.notes).append(note)
    return report


def _restored(name: str, rounds: Sequence[Round], goal: Goal | None = None) -> Figure:
    tried = [each for each in rounds if not each.flagged]
    return Figure(name, share(_count(tried, "restored"), len(tried)), "%", goal)


def _count(rounds: Sequence[Round], outcome: str) -> int:
    return sum(each.outcome.startswith(outcome) for each in rounds)


def rounds_of(path: Path) -> list[Round]:
    """One key of a page's front matter there and back, in three variants."""
    text = corpora.text_of(path)
    if not PageText(text).head:
        return []
    chance = random.Random(str(path.relative_to(corpora.CORPORA)))
    place = path.relative_to(corpora.CORPORA)
    names = ["as it is", *chance.sample(list(VARIANTS)[1:], 2)]
    return [_round(f"{place}, {name}", VARIANTS[name](text), chance) for name in names]


def _round(place: str, text: str, chance: random.Random) -> Round:
    head = PageText(text).head
    try:
        before = read_values(PageText(head))
    except Damaged:
        return Round(place, "unread", head)
    key = chance.choice([*before, None])
    free = any(
        entry.key == key and _is_free(entry, before[entry.key]) for entry in read_properties(PageText(head).source)
    )
    try:
        outcome = _there_and_back(text, before, key)
    except Damaged as refusal:
        outcome = f"refused: {refusal}"
    return Round(f"{place}, key {key!r}", outcome, head, free)


def _is_free(entry: Property, value: Json) -> bool:
    return entry.style in ("|", ">") or (value is None and bool(entry.text))


def _there_and_back(text: str, before: Mapping[str, Json], key: str | None) -> str:
    """*key* None: one more key, which goes again."""
    if key is None:
        changed = with_keys(PageText(text), {"a new key": "x: y"}).text
        back = with_keys(PageText(changed), {"a new key": REMOVED}).text
    else:
        changed = with_keys(PageText(text), {key: _changed(before[key])}).text
        back = with_keys(PageText(changed), {key: before[key]}).text
    if changed == text:
        return "nothing was changed"
    if back == text:
        return "restored"
    if not is_same_json(read_values(PageText(back)), dict(before)):
        return "other values"
    return f"not restored: {shortened(PageText(back).head, 1000)}"


def _changed(value: Json) -> Json:
    """Another value of the same kind."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return _changed_text(value)
        case list():
            return [*value, "one more"]
        case dict():
            return {**value, "one more": 1}
    return "x"


def _changed_text(value: str) -> str:
    try:
        return str(date.fromisoformat(value) + timedelta(days=1))
    except ValueError:
        return value + " x"


def _inside(head_only: Callable[[str], str]) -> Callable[[str], str]:
    """A variant of a text's front matter only."""

    def vary(text: str) -> str:
        parts = PageText(text)
        first, *inner, last = parts.head.splitlines(keepends=True)
        return parts.bom + first + head_only("".join(inner)) + last + parts.body

    return vary


def _lines(source: str, change: Callable[[str], str]) -> str:
    """*source* with each line of the form `key: plain text` changed."""
    return "".join(change(line) if _is_plain(line) else line for line in source.splitlines(keepends=True))


def _is_plain(line: str) -> bool:
    key, colon, value = line.rstrip("\n").partition(": ")
    return bool(colon) and key.isidentifier() and value.replace(" ", "").replace("-", "").isalnum()


def _quoted(mark: str) -> Callable[[str], str]:
    def quote(line: str) -> str:
        key, _, value = line.rstrip("\n").partition(": ")
        return f"{key}: {mark}{value}{mark}\n"

    return lambda source: _lines(source, quote)


def _commented(source: str) -> str:
    return "# about\n\n" + _lines(source, lambda line: line.rstrip("\n") + "  # why\n") + "# end\n"


VARIANTS: Mapping[str, Callable[[str], str]] = MappingProxyType(
    {
        "as it is": lambda text: text,
        "CRLF": lambda text: text.replace("\n", "\r\n"),
        "CR": lambda text: text.replace("\n", "\r"),
        "with a byte order mark": lambda text: "\ufeff" + text,
        "comments": _inside(_commented),
        "single quotes": _inside(_quoted("'")),
        "double quotes": _inside(_quoted('"')),
        "more keys": _inside(lambda source: source + "list:\n- a\n- 'b' # c\nflow: [a, b]\ntext: |\n  x\n\n  y\n"),
    }
)
