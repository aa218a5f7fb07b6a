"""What people are told about problems, and about files that are not synced."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from mirrord.domain.place import DEFAULT_ATTACHMENTS

REMEDIES: Mapping[str, str] = MappingProxyType(
    {
        "approval": "Make a new request; the first version counts.",
        "blob": "Let the app insert the bytes again.",
        "bound-edit": "Edit the page in its app; `mirrord diff` shows the text that was taken back.",
        "bound-halt": "`mirrord bind status NAME` says why; `mirrord bind resume NAME` goes on.",
        "bound-new": "Change the page, or the mapping (`page.create`); it is tried again with every change.",
        "bound-row": "Mend the row in its app, or the page; it is tried again with the next change.",
        "bound-wait": "End what the sentence names, in the app; it is tried again by itself.",
        "content-lost": "Write the document again with its nodes, or call mirrord.confirm_content(id).",
        "damaged": "Save it as UTF-8, below 50 MB, or ignore it in .mirrorignore.",
        "disk": "Free some space.",
        "event": "Mend or remove the line; nothing is lost.",
        "front-matter": "Mend the YAML at the top of the page.",
        "in-the-way": "Move the obstacle away, or give the row another name.",
        "internal": "It is tried again every minute; report what the log says.",
        "livelock": "Stop the program that reverts the text, then save a new text, or run `mirrord check --fix`.",
        "name": "Rename the file, if other systems mirror it.",
        "record": "Mend the YAML or JSON.",
        "refused": "Put a regular file with a valid name there, move it away, or unmount the file system there.",
        "render": "Write `markdown` instead, or revert the change.",
        "root": "Put the right tree back, or remove PAUSE; `mirrord adopt` takes another tree.",
        "trigger": "Let the app's trigger accept the row; it is tried again.",
        "twin": "Rename it if you do not want the number.",
        "unreadable": "Let the user that runs mirrord read it.",
        "unwritable": "Let the user that runs mirrord write it; it is tried again.",
    }
)

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
