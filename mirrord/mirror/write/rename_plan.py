"""A plan: renames, removals and new texts of several files that belong together, and the text of its file."""

import json
from collections.abc import Sequence
from dataclasses import astuple, dataclass

from mirrord.mirror.write.journal_labels import Label, label_of


@dataclass(frozen=True, slots=True)
class Rename:
    """A file or directory that gets another, free path. inode: identifies it, so that the step is done once."""

    source: str
    target: str
    inode: int


@dataclass(frozen=True, slots=True)
class Removal:
    """A file that goes to the trash. entry: its id; over: digest of its content, in hex; the others as for remove()."""

    path: str
    entry: str
    expected: str
    key: str
    reason: str
    title: str | None = None


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A file that gets another text. path: after the renames. staged: the name of the text in the journal."""

    path: str
    staged: str

    @property
    def label(self) -> Label:
        """The entry, the expected and the new digest of the text."""
        label = label_of(self.staged)
        assert label is not None
        return label


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """
    Steps that belong together.

    removal: the first step; no other step is about its file. followers: go to the trash after the renames, unchanged,
    or stay if they are saved at that moment. emptied: directories to remove if they are empty.
    appended_lines: a file and the lines to append to it at the end. staged_lines: the same, but the lines are those of
    a staged file in the journal, of any length.
    """

    renames: Sequence[Rename] = ()
    rewrites: Sequence[Rewrite] = ()
    emptied: Sequence[str] = ()
    appended_lines: tuple[str, str] | None = None
    removal: Removal | None = None
    staged_lines: tuple[str, str] | None = None
    followers: Sequence[Removal] = ()

    @property
    def paths(self) -> list[str]:
        """The paths of all affected files."""
        paths = [self.removal.path] if self.removal is not None else []
        paths += [step.path for step in self.followers]
        return [*paths, *(step.source for step in self.renames), *(step.path for step in self.rewrites)]


def encode_plan(plan: BatchPlan) -> bytes:
    """The content of the plan's file."""
    facts = {
        "renames": [[step.source, step.target, step.inode] for step in plan.renames],
        "rewrites": [[step.path, step.staged] for step in plan.rewrites],
        "emptied": list(plan.emptied),
        "note": plan.appended_lines,
        "told": plan.staged_lines,
        "removal": astuple(plan.removal) if plan.removal is not None else None,
        "followers": [astuple(step) for step in plan.followers],
    }
    return json.dumps(facts).encode()


def decode_plan(text: bytes) -> BatchPlan | None:
    """The plan in *text*; None: it is torn, so no step was done."""
    try:
        raw = json.loads(text)
        return BatchPlan(
            renames=[Rename(*row) for row in raw["renames"]],
            rewrites=[Rewrite(*row) for row in raw["rewrites"]],
            emptied=raw["emptied"],
            appended_lines=_parse_pair(raw["note"]),
            removal=Removal(*raw["removal"]) if raw.get("removal") else None,
            staged_lines=_parse_pair(raw.get("told")),
            followers=[Removal(*row) for row in raw.get("followers", ())],
        )
    except (ValueError, KeyError, TypeError):
        return None


def _parse_pair(raw: list[str] | None) -> tuple[str, str] | None:
    return (str(raw[0]), str(raw[1])) if raw else None
