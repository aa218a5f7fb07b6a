"""What a plan is: renames, removals and new texts of several files that belong together, and its file's text."""

import json
from collections.abc import Sequence
from dataclasses import astuple, dataclass

from mirrord.mirror.label import Label, label_of


@dataclass(frozen=True, slots=True)
class Rename:
    """A file or directory that gets another path; nothing is there yet. inode: what it is, to do it once."""

    source: str
    target: str
    inode: int


@dataclass(frozen=True, slots=True)
class Removal:
    """A file that goes to the trash. entry: its id; over: digest of what it holds, in hex; the rest as for remove()."""

    path: str
    entry: str
    over: str
    key: str
    reason: str
    title: str | None = None


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A file that gets another text. path: where it is after the renames. staged: the text's name in the journal."""

    path: str
    staged: str

    @property
    def label(self) -> Label:
        """Whose text it is, what it replaces, and what it is."""
        found = label_of(self.staged)
        assert found is not None
        return found


@dataclass(frozen=True, slots=True)
class Plan:
    """
    What belongs together, in this order.

    removal: comes first; none of the others is about its file. followers: go to the trash after it, as they are, or
    stay where somebody saves one just then. emptied: directories that go if nothing is left in them.
    note: a file and the lines to be added to it at the end. told: the same, but the lines, however many, are those of
    a file that waits in the journal.
    """

    renames: Sequence[Rename] = ()
    rewrites: Sequence[Rewrite] = ()
    emptied: Sequence[str] = ()
    note: tuple[str, str] | None = None
    removal: Removal | None = None
    told: tuple[str, str] | None = None
    followers: Sequence[Removal] = ()

    @property
    def paths(self) -> list[str]:
        """Of the files it is about."""
        removed = [self.removal.path] if self.removal is not None else []
        removed += [one.path for one in self.followers]
        return [*removed, *(one.source for one in self.renames), *(one.path for one in self.rewrites)]


def encoded(plan: Plan) -> bytes:
    """The text of a plan's file."""
    facts = {
        "renames": [[one.source, one.target, one.inode] for one in plan.renames],
        "rewrites": [[one.path, one.staged] for one in plan.rewrites],
        "emptied": list(plan.emptied),
        "note": plan.note,
        "told": plan.told,
        "removal": astuple(plan.removal) if plan.removal is not None else None,
        "followers": [astuple(one) for one in plan.followers],
    }
    return json.dumps(facts).encode()


def decoded(text: bytes) -> Plan | None:
    """None: it is torn, so nothing of it was done."""
    try:
        raw = json.loads(text)
        return Plan(
            renames=[Rename(*one) for one in raw["renames"]],
            rewrites=[Rewrite(*one) for one in raw["rewrites"]],
            emptied=raw["emptied"],
            note=_pair(raw["note"]),
            removal=Removal(*raw["removal"]) if raw.get("removal") else None,
            told=_pair(raw.get("told")),
            followers=[Removal(*one) for one in raw.get("followers", ())],
        )
    except (ValueError, KeyError, TypeError):
        return None


def _pair(raw: list[str] | None) -> tuple[str, str] | None:
    return (str(raw[0]), str(raw[1])) if raw else None
