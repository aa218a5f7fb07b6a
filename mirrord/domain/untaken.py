"""Files beside the pages that are not synced: how many there are, of which sorts, and what would take them in."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mirrord.domain.place import ATTACHMENTS

MOST_ENDINGS = 8  # that are listed
_PAGES = frozenset({".md", ".markdown", ".mdown", ".mkd"})  # endings by which somebody means a page


@dataclass(slots=True)
class Untaken:
    """endings: how many files have each, "" none, as they are spelt. example: the first path in their order."""

    endings: Counter[str] = field(default_factory=Counter)
    example: str | None = None

    def add(self, path: str) -> None:
        """One more file."""
        self.endings[_ending_of(path)] += 1
        if self.example is None or path < self.example:
            self.example = path

    def facts(self) -> dict[str, object]:
        """As plain values: {files, endings, example}."""
        return {"files": self.endings.total(), "endings": dict(self.endings.most_common()), "example": self.example}


def describe(endings: Mapping[str, int], example: str | None) -> str:
    """How many files are not synced, of which sorts, as a sentence."""
    total = sum(endings.values())
    sorts = [f"{count} {ending or 'without an ending'}" for ending, count in _listed(endings)]
    more = ["others"] if len(endings) > MOST_ENDINGS else []
    are = "file is" if total == 1 else "files are"
    return f"{total} {are} not synced: {', '.join((*sorts, *more))}; for instance {example!r}."


def remedy(endings: Mapping[str, int], patterns: Sequence[str] = ATTACHMENTS) -> str:
    """What takes such files in. patterns: which files are attachments now."""
    known = [ending for ending, _ in _listed(endings)]
    wanted = [f"*{ending}" for ending in known if ending and ending.lower() not in _PAGES]
    said = []
    if wanted:
        listed = ", ".join(f'"{one}"' for one in (*patterns, *wanted))
        said.append(f"`attachments = [{listed}]` below [mirror] in mirrord.toml takes them in")
    if any(ending.lower() in _PAGES for ending in known):
        said.append("pages end in `.md`: rename them")
    if not wanted:
        said.append("files that are meant to stay out can be listed in .mirrorignore")
    return "; ".join(said)


def _ending_of(path: str) -> str:
    stem, dot, ending = path.rpartition("/")[2].rpartition(".")
    return dot + ending if stem else ""


def _listed(endings: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(endings.items(), key=lambda one: (-one[1], one[0]))[:MOST_ENDINGS]
