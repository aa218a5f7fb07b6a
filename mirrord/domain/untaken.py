"""Files beside the pages that are not synced: their number by ending, and how to include them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mirrord.domain.place import DEFAULT_ATTACHMENTS

MAX_LISTED_ENDINGS = 8  # in a list
_PAGES = frozenset({".md", ".markdown", ".mdown", ".mkd"})  # endings of files meant as pages


@dataclass(slots=True)
class UnsyncedFiles:
    """Files that are not synced. endings: number of files by ending, "" without one. example: the first path."""

    endings: Counter[str] = field(default_factory=Counter)
    example: str | None = None

    def add(self, path: str) -> None:
        """Count a file."""
        self.endings[_ending_of(path)] += 1
        if self.example is None or path < self.example:
            self.example = path

    def as_facts(self) -> dict[str, object]:
        """As plain values: {files, endings, example}."""
        return {"files": self.endings.total(), "endings": dict(self.endings.most_common()), "example": self.example}


def describe_unsynced(endings: Mapping[str, int], example: str | None) -> str:
    """A sentence with the number of files that are not synced, by ending."""
    total = sum(endings.values())
    sorts = [f"{count} {ending or 'without an ending'}" for ending, count in _most_common(endings)]
    suffix = ["others"] if len(endings) > MAX_LISTED_ENDINGS else []
    verb = "file is" if total == 1 else "files are"
    return f"{total} {verb} not synced: {', '.join((*sorts, *suffix))}; for instance {example!r}."


def remedy_for_unsynced(endings: Mapping[str, int], patterns: Sequence[str] = DEFAULT_ATTACHMENTS) -> str:
    """How to include such files. patterns: the current patterns of attachments."""
    file_endings = [ending for ending, _ in _most_common(endings)]
    new_patterns = [f"*{ending}" for ending in file_endings if ending and ending.lower() not in _PAGES]
    sentences = []
    if new_patterns:
        pattern_list = ", ".join(f'"{pattern}"' for pattern in (*patterns, *new_patterns))
        sentences.append(f"`attachments = [{pattern_list}]` below [mirror] in mirrord.toml takes them in")
    if any(ending.lower() in _PAGES for ending in file_endings):
        sentences.append("pages end in `.md`: rename them")
    if not new_patterns:
        sentences.append("files that are meant to stay out can be listed in .mirrorignore")
    return "; ".join(sentences)


def _ending_of(path: str) -> str:
    stem, dot, ending = path.rpartition("/")[2].rpartition(".")
    return dot + ending if stem else ""


def _most_common(endings: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(endings.items(), key=lambda count_of_ending: (-count_of_ending[1], count_of_ending[0]))[
        :MAX_LISTED_ENDINGS
    ]
