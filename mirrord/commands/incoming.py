"""What of a tree from anywhere would come into a mirror, and what not: everything is looked at, nothing changed."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from mirrord.codec.heads import head_of
from mirrord.codec.text import decode
from mirrord.commands import paths
from mirrord.commands.failure import explained
from mirrord.commands.session import Session
from mirrord.domain.entry import Digest, EntryId, Kind, parse_id
from mirrord.domain.omission import Omission
from mirrord.domain.place import RECORDS, name_key
from mirrord.domain.progress import Progress
from mirrord.errors import Busy, Damaged, Refused, reason_of
from mirrord.mirror import contents, kernel
from mirrord.mirror.attachments import EVERYTHING, SETTINGS, VAULT, AttachmentRules
from mirrord.mirror.card import LIMIT
from mirrord.mirror.ignore import Ignore
from mirrord.mirror.layout import (
    directory_of,
    is_beside,
    lineage,
    parent_of,
    printable,
    spot_of_directory,
    spot_of_file,
)
from mirrord.mirror.passed import IGNORED, passed_over, sort_of
from mirrord.mirror.scan import Scan, scan
from mirrord.mirror.tree import Tree


@dataclass(frozen=True, slots=True)
class Coming:
    """A file that the mirror lacks. source: its path where it comes from; target: in the mirror."""

    source: str
    target: str
    size: int


@dataclass(frozen=True, slots=True)
class Copy:
    """A page whose `id:` belongs to the page at *elsewhere*: it will be a page of its own, with another id."""

    path: str
    elsewhere: str


@dataclass(slots=True)
class Survey:
    """
    same: how many files are in the mirror already. differing: what is there with other bytes, or under a name that
    readers take for the same; left: what cannot come in. passed: what no mirror takes, as passed_over().
    """

    new: list[Coming] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    same: int = 0
    differing: list[Omission] = field(default_factory=list)
    left: list[Omission] = field(default_factory=list)
    passed: Counter[str] = field(default_factory=Counter)
    copies: list[Copy] = field(default_factory=list)


def survey(session: Session, source: Tree, into: str, report: Progress) -> Survey:
    """
    Compare the tree *source* with the mirror. into: the folder it goes into; "": the root. Records go to `.records`.

    Raises Failed for a folder that cannot be one, or a source that cannot be listed.
    """
    into = paths.checked(into) if into else ""
    with explained():
        found = scan(source, Ignore.load(source, EVERYTHING))  # the mirror's rules say what is taken
        looked = _Look(session, source, into)
    looked.survey.left += [Omission(path, f"{path!r} {why}.") for path, why in found.troubles]
    looked.survey.passed += passed_over(source, found)
    for done, path in enumerate(sorted(found.files)):
        looked.at_file(path, found.files[path].size)
        report(done + 1, len(found.files))
    for path in sorted(path for path in found.directories if spot_of_directory(path) is not None):
        looked.at_directory(path)
    looked.at_vault()
    looked.find_copies()
    return looked.survey


def read(source: Tree, path: str) -> bytes:
    """The bytes of a file of the source. Raises Busy while somebody writes to it, Damaged where it is too large."""
    with source.file(path) as descriptor:
        if kernel.has_writer(descriptor):
            raise Busy(f"{printable(path)!r} is open for writing in another program.")
        return contents.snapshot(descriptor, path, LIMIT)[0]


def why_left(path: str, error: Exception) -> Omission:
    """A file of the source that could not be read."""
    reason = f"{printable(path)!r} cannot be read: {reason_of(error)}" if isinstance(error, OSError) else str(error)
    return Omission(printable(path), reason)


def compared(tree: Tree, path: str, digest: Digest) -> Omission | None:
    """Why what is at *path* of the mirror is not the file with *digest*; None: it is."""
    try:
        if tree.digest_now(path) == digest:
            return None
    except (OSError, Refused) as error:
        return Omission(path, f"{path!r} is taken in the mirror: {reason_of(error)}")
    return Omission(path, f"{path!r} is in the mirror with other bytes, and stays; merge the two by hand.")


class _Look:
    """One survey under way."""

    def __init__(self, session: Session, source: Tree, into: str) -> None:
        self.survey = Survey()
        self._session = session
        self._source = source
        self._into = into
        brings_vault = not into and session.tree.stat(VAULT) is None and source.stat(VAULT) is not None
        self._rules = AttachmentRules.of_vault(session.tree, source if brings_vault else session.tree)
        self._brings_vault = brings_vault and self._rules.follow_vault
        self._has_beside = False
        self._ignore = Ignore.load(session.tree, self._rules)
        standing = scan(session.tree, Ignore(rules=EVERYTHING))
        self._files = standing.files.keys()
        self._spelt = _spelt(standing)
        self._ids: dict[EntryId, list[str]] = {}

    def at_vault(self) -> None:
        """Where Obsidian puts attachments comes along if any do, else they would not be synced here."""
        if not (self._brings_vault and self._has_beside):
            return
        stat = self._source.stat(SETTINGS)
        if stat is None:
            self.survey.folders.append(VAULT)
        else:
            self.survey.new.insert(0, Coming(SETTINGS, SETTINGS, stat.size))

    def at_file(self, path: str, size: int) -> None:
        """Decide on one file of the source."""
        target, found = self._target(path), self.survey
        if self._rules.leave_out(target):
            found.passed[sort_of(path)] += 1
            return
        if self._is_ignored(target, is_directory=False):
            found.passed[IGNORED] += 1
            return
        if (other := self._twin(target)) is not None:
            found.differing.append(_as_twin(target, other))
            return
        try:
            self._judge(path, target, size)
        except (OSError, Refused, Busy, Damaged) as error:
            found.left.append(why_left(path, error))

    def at_directory(self, path: str) -> None:
        """Decide on one folder of the source; of those that are there, nothing has to be said."""
        target = self._target(path)
        if self._is_ignored(target, is_directory=True) or self._session.tree.stat(target) is not None:
            return
        if (other := self._twin(f"{target}/")) is None:
            self.survey.folders.append(target)
        else:
            self.survey.differing.append(_as_twin(target, other))

    def find_copies(self) -> None:
        """Which of the new pages carry an id that another page has."""
        if not self._ids:
            return
        known = self._session.catalogue.agreed.of(list(self._files))
        owners = {seen.entry: path for path, seen in known.items()}
        for entry, mine in self._ids.items():
            owner = owners.get(entry) or min(mine)
            self.survey.copies += [Copy(path, owner) for path in mine if path != owner]

    def _judge(self, path: str, target: str, size: int) -> None:
        spot = spot_of_file(target)
        assert spot is not None, "a scan finds nothing else"
        if target in self._files:
            if (digest := self._source.digest_now(path)) is not None:
                self._compare(target, digest)
            return
        if spot.kind is not Kind.ATTACHMENT:
            text = _decoded(path, read(self._source, path))
            if spot.kind is Kind.PAGE and (entry := parse_id(head_of(text).id)) is not None:
                self._ids.setdefault(entry, []).append(target)
        else:
            contents.check_size(path, size, LIMIT)
        self._has_beside = self._has_beside or is_beside(spot)
        self.survey.new.append(Coming(path, target, size))
        self._learn(target)

    def _compare(self, target: str, digest: Digest) -> None:
        omission = compared(self._session.tree, target, digest)
        if omission is None:
            self.survey.same += 1
        else:
            self.survey.differing.append(omission)

    def _target(self, path: str) -> str:
        is_inside = self._into and not path.startswith(f"{RECORDS}/")
        return f"{self._into}/{path}" if is_inside else path

    def _is_ignored(self, target: str, *, is_directory: bool) -> bool:
        if target.startswith(f"{RECORDS}/"):
            return False
        above = lineage(parent_of(target))
        return self._ignore.matches(target, is_directory) or any(self._ignore.matches(one, True) for one in above)

    def _twin(self, target: str) -> str | None:
        """What is there already under a name that a reader takes for the same, of *target* or a directory above it."""
        for path in (f"{above}/" for above in lineage(parent_of(target))):
            if (known := self._spelt.get(_key(path), path)) != path:
                return known
        known = self._spelt.get(_key(target), target)
        return known if known != target else None

    def _learn(self, target: str) -> None:
        for path in (target, *(f"{above}/" for above in lineage(parent_of(target)))):
            self._spelt.setdefault(_key(path), path)


def _spelt(found: Scan) -> dict[str, str]:
    every: Iterable[str] = (*found.files, *found.ignored, *(f"{path}/" for path in found.directories))
    return {_key(path): path for path in every}


def _key(path: str) -> str:
    """What paths that mean the same to a reader have in common; a directory ends in `/`, a page may have two forms."""
    spot = None if path.endswith("/") else spot_of_file(path)
    is_page = spot is not None and spot.kind is Kind.PAGE
    return name_key(f"{directory_of(path, Kind.PAGE)}.md" if is_page else path)


def _as_twin(target: str, other: str) -> Omission:
    sentence = f"{target!r} would stand beside {other!r}, which readers take for the same name; rename one of them."
    return Omission(target, sentence)


def _decoded(path: str, data: bytes) -> str:
    try:
        return decode(data)
    except Damaged as error:
        raise Damaged(f"{printable(path)!r}: {error}") from error
