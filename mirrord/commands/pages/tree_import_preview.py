"""What of a foreign tree would be imported and what not; nothing is changed."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from mirrord.commands.core import page_paths
from mirrord.commands.core.failure import translating_errors
from mirrord.commands.core.session import Session
from mirrord.domain.entry import MAX_FILE_BYTES, Digest, EntryId, Kind, parse_id
from mirrord.domain.long_work import Omission, Progress
from mirrord.domain.place import RECORDS, name_key
from mirrord.errors import Busy, Damaged, Refused, reason_of
from mirrord.markdown.frontmatter.page_text import PageText, decode
from mirrord.markdown.frontmatter.summary_keys import head_of
from mirrord.mirror.tree import contained_files, kernel
from mirrord.mirror.tree.ignore_rules import (
    ATTACH_EVERYTHING,
    VAULT_DIRECTORY,
    VAULT_SETTINGS_PATH,
    AttachmentRules,
    Ignore,
)
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import (
    directory_of,
    is_beside,
    lineage,
    parent_of,
    printable,
    spot_of_directory,
    spot_of_file,
)
from mirrord.mirror.tree.tree_scan import IGNORED, Scan, count_skipped, file_sort, scan


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file that the mirror lacks. source: its path in the foreign tree; target: its path in the mirror."""

    source: str
    target: str
    size: int


@dataclass(frozen=True, slots=True)
class DuplicateId:
    """A page whose `id:` belongs to the page at *elsewhere*; it becomes a separate page with a new id."""

    path: str
    elsewhere: str


@dataclass(slots=True)
class TreeSurvey:
    """
    The outcome of a survey.

    same: number of files that the mirror has already. differing: files present with other bytes, or under a name
    that readers take for the same. omissions: files that cannot be taken. ignored_counts: counts of count_skipped().
    """

    new: list[NewFile] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    same: int = 0
    differing: list[Omission] = field(default_factory=list)
    omissions: list[Omission] = field(default_factory=list)
    ignored_counts: Counter[str] = field(default_factory=Counter)
    copies: list[DuplicateId] = field(default_factory=list)


def survey_tree(session: Session, source: Tree, into: str, report: Progress) -> TreeSurvey:
    """
    Compare the tree *source* with the mirror. into: the target folder; "": the root. Records go to `.records`.

    Raises Failed for an invalid folder or an unlistable source.
    """
    into = page_paths.validate_path(into) if into else ""
    with translating_errors():
        source_scan = scan(source, Ignore.load(source, ATTACH_EVERYTHING))  # the mirror's rules decide
        examination = _Examination(session, source, into)
    examination.survey.omissions += [Omission(path, f"{path!r} {trouble}.") for path, trouble in source_scan.troubles]
    examination.survey.ignored_counts += count_skipped(source, source_scan)
    for number, path in enumerate(sorted(source_scan.files), 1):
        examination.at_file(path, source_scan.files[path].size)
        report(number, len(source_scan.files))
    for path in sorted(path for path in source_scan.directories if spot_of_directory(path) is not None):
        examination.at_directory(path)
    examination.at_vault()
    examination.find_copies()
    return examination.survey


def read_foreign_file(source: Tree, path: str) -> bytes:
    """Read a file of the source. Raises Busy while it is being written, Damaged if it is too large."""
    with source.open_file(path) as descriptor:
        if kernel.has_writer(descriptor):
            raise Busy(f"{printable(path)!r} is open for writing in another program.")
        return contained_files.read_now(descriptor, path, MAX_FILE_BYTES)[0]


def unreadable_omission(path: str, error: Exception) -> Omission:
    """Omission of an unreadable file of the source."""
    reason = f"{printable(path)!r} cannot be read: {reason_of(error)}" if isinstance(error, OSError) else str(error)
    return Omission(printable(path), reason)


def compare_file(tree: Tree, path: str, digest: Digest) -> Omission | None:
    """Why *path* of the mirror is not the file with *digest*, or None if it is."""
    try:
        if tree.digest_now(path) == digest:
            return None
    except (OSError, Refused) as error:
        return Omission(path, f"{path!r} is taken in the mirror: {reason_of(error)}")
    return Omission(path, f"{path!r} is in the mirror with other bytes, and stays; merge the two by hand.")


class _Examination:
    """The state of one survey."""

    def __init__(self, session: Session, source: Tree, into: str) -> None:
        self.survey = TreeSurvey()
        self._session = session
        self._source = source
        self._into = into
        brings_vault = (
            not into and session.tree.stat(VAULT_DIRECTORY) is None and source.stat(VAULT_DIRECTORY) is not None
        )
        self._rules = AttachmentRules.of_vault(session.tree, source if brings_vault else session.tree)
        self._brings_vault = brings_vault and self._rules.follows_vault
        self._has_beside = False
        self._ignore = Ignore.load(session.tree, self._rules)
        mirror_scan = scan(session.tree, Ignore(rules=ATTACH_EVERYTHING))
        self._files = mirror_scan.files.keys()
        self._spelling_by_key = _spelling_by_key(mirror_scan)
        self._ids: dict[EntryId, list[str]] = {}

    def at_vault(self) -> None:
        """Take Obsidian's attachment setting too if attachments depend on it; otherwise they would not be synced."""
        if not (self._brings_vault and self._has_beside):
            return
        stat = self._source.stat(VAULT_SETTINGS_PATH)
        if stat is None:
            self.survey.folders.append(VAULT_DIRECTORY)
        else:
            self.survey.new.insert(0, NewFile(VAULT_SETTINGS_PATH, VAULT_SETTINGS_PATH, stat.size))

    def at_file(self, path: str, size: int) -> None:
        """Decide on one file of the source."""
        target, survey = self._target_of(path), self.survey
        if self._rules.excludes(target):
            survey.ignored_counts[file_sort(path)] += 1
            return
        if self._is_ignored(target, is_directory=False):
            survey.ignored_counts[IGNORED] += 1
            return
        if (twin := self._find_twin(target)) is not None:
            survey.differing.append(_twin_omission(target, twin))
            return
        try:
            self._examine_file(path, target, size)
        except (OSError, Refused, Busy, Damaged) as error:
            survey.omissions.append(unreadable_omission(path, error))

    def at_directory(self, path: str) -> None:
        """Decide on one folder of the source; folders that exist already are not reported."""
        target = self._target_of(path)
        if self._is_ignored(target, is_directory=True) or self._session.tree.stat(target) is not None:
            return
        if (twin := self._find_twin(f"{target}/")) is None:
            self.survey.folders.append(target)
        else:
            self.survey.differing.append(_twin_omission(target, twin))

    def find_copies(self) -> None:
        """Find new pages that carry the id of another page."""
        if not self._ids:
            return
        agreed = self._session.catalogue.agreed.by_paths(list(self._files))
        owners = {row.entry: path for path, row in agreed.items()}
        for entry, targets in self._ids.items():
            owner = owners.get(entry) or min(targets)
            self.survey.copies += [DuplicateId(path, owner) for path in targets if path != owner]

    def _examine_file(self, path: str, target: str, size: int) -> None:
        spot = spot_of_file(target)
        assert spot is not None, "a scan finds nothing else"
        if target in self._files:
            if (digest := self._source.digest_now(path)) is not None:
                self._compare_content(target, digest)
            return
        if spot.kind is not Kind.ATTACHMENT:
            text = _decode_page(path, read_foreign_file(self._source, path))
            if spot.kind is Kind.PAGE and (entry := parse_id(head_of(PageText(text)).id)) is not None:
                self._ids.setdefault(entry, []).append(target)
        else:
            contained_files.check_size(path, size, MAX_FILE_BYTES)
        self._has_beside = self._has_beside or is_beside(spot)
        self.survey.new.append(NewFile(path, target, size))
        self._add_spelling(target)

    def _compare_content(self, target: str, digest: Digest) -> None:
        omission = compare_file(self._session.tree, target, digest)
        if omission is None:
            self.survey.same += 1
        else:
            self.survey.differing.append(omission)

    def _target_of(self, path: str) -> str:
        is_inside = self._into and not path.startswith(f"{RECORDS}/")
        return f"{self._into}/{path}" if is_inside else path

    def _is_ignored(self, target: str, *, is_directory: bool) -> bool:
        if target.startswith(f"{RECORDS}/"):
            return False
        ancestors = lineage(parent_of(target))
        return self._ignore.matches(target, is_directory) or any(
            self._ignore.matches(ancestor, True) for ancestor in ancestors
        )

    def _find_twin(self, target: str) -> str | None:
        """An existing path that readers take for the same as *target* or a directory above it, or None."""
        for path in (f"{ancestor}/" for ancestor in lineage(parent_of(target))):
            if (spelling := self._spelling_by_key.get(_key_of(path), path)) != path:
                return spelling
        spelling = self._spelling_by_key.get(_key_of(target), target)
        return spelling if spelling != target else None

    def _add_spelling(self, target: str) -> None:
        for path in (target, *(f"{ancestor}/" for ancestor in lineage(parent_of(target)))):
            self._spelling_by_key.setdefault(_key_of(path), path)


def _spelling_by_key(tree_scan: Scan) -> dict[str, str]:
    paths: Iterable[str] = (*tree_scan.files, *tree_scan.ignored, *(f"{path}/" for path in tree_scan.directories))
    return {_key_of(path): path for path in paths}


def _key_of(path: str) -> str:
    """Common key of paths that readers take for the same; directories end in `/`, pages may have two forms."""
    spot = None if path.endswith("/") else spot_of_file(path)
    is_page = spot is not None and spot.kind is Kind.PAGE
    return name_key(f"{directory_of(path, Kind.PAGE)}.md" if is_page else path)


def _twin_omission(target: str, twin: str) -> Omission:
    sentence = f"{target!r} would stand beside {twin!r}, which readers take for the same name; rename one of them."
    return Omission(target, sentence)


def _decode_page(path: str, data: bytes) -> str:
    try:
        return decode(data)
    except Damaged as error:
        raise Damaged(f"{printable(path)!r}: {error}") from error
