"""Which files are taken into sync: attachment patterns and `.mirrorignore`."""

import json
import os
import re
import time
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from mirrord.domain.place import DEFAULT_ATTACHMENTS, VAULT_SETTING
from mirrord.errors import Busy, Damaged, Refused
from mirrord.mirror.tree.kernel import Stat, stat_of
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import is_beside, may_be_beside, spot_of_file

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


VAULT_DIRECTORY = VAULT_SETTING  # the directory, and its word in the list of patterns
VAULT_SETTINGS_PATH = f"{VAULT_DIRECTORY}/app.json"
_MAX_SETTINGS_BYTES = 1 << 20
_MEDIA = (  # endings of the files that Obsidian treats as attachments
    *("png", "jpg", "jpeg", "gif", "bmp", "svg", "webp", "avif", "pdf"),
    *("mp3", "wav", "m4a", "ogg", "3gp", "flac", "mp4", "webm", "ogv", "mov", "mkv"),
)
_MEDIA_FILE = rf"[^/]*\.(?i:{'|'.join(_MEDIA)})"
_MEDIA_IN_ROOT = re.compile(_MEDIA_FILE)
_MEDIA_ANYWHERE = re.compile(rf"(?:.*/)?{_MEDIA_FILE}", re.DOTALL)

VaultRule = re.Pattern[str]


class AttachmentRules:
    """Tells attachments among files that are neither pages nor below `assets`. Never a reason to delete one."""

    def __init__(self, patterns: Sequence[str] = (), vault: VaultRule | None = None) -> None:
        """*patterns*: in gitignore syntax. Raises Damaged for an invalid pattern."""
        self._spec = _compile_patterns(tuple(patterns))
        self._vault = vault

    @property
    def follows_vault(self) -> bool:
        """Whether an Obsidian vault contributes a rule."""
        return self._vault is not None

    @classmethod
    def load(cls, tree: Tree) -> "AttachmentRules":
        """The current rules of a tree. Raises Busy while the vault's settings are being written."""
        return cls.of_vault(tree, tree)

    @classmethod
    def of_vault(cls, tree: Tree, vault: Tree) -> "AttachmentRules":
        """The rules of *tree* with the settings of *vault*. Raises Busy as load() does."""
        return cls(tree.attachments, _load_vault_rule(vault) if VAULT_DIRECTORY in tree.attachments else None)

    def excludes(self, path: str) -> bool:
        """Whether the file at *path* is no entry at all, or lies beside the pages without being an attachment."""
        spot = spot_of_file(path)
        return spot is None or (is_beside(spot) and not self.is_attachment(path))

    def is_attachment(self, path: str) -> bool:
        """Whether the visible file at *path*, not a page, is an attachment."""
        if (self._vault is None and self._spec is None) or not may_be_beside(path):
            return False
        if self._vault is not None and self._vault.fullmatch(path):
            return True
        return self._spec is not None and self._spec.match_file(path)


def parse_vault_rule(text: str) -> VaultRule | None:
    """The attachment rule of Obsidian's `app.json`; None: invalid settings."""
    try:
        settings = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(settings, dict):
        return None
    folder = settings.get("attachmentFolderPath", "/")
    return _rule_of_folder(folder) if isinstance(folder, str) else None


def _rule_of_folder(folder: str) -> VaultRule | None:
    """*folder*: `/` the vault's root, `./` beside the note, `./sub` below the note's folder, `a/b` one folder."""
    is_relative = folder == "." or folder.startswith("./")
    parts = [part for part in folder.removeprefix(".").split("/") if part] if is_relative else folder.split("/")
    parts = [part for part in parts if part]
    if any(part.startswith(".") for part in parts):
        return None
    if not parts:
        return _MEDIA_ANYWHERE if is_relative else _MEDIA_IN_ROOT
    return re.compile(("(?:.*/)?" if is_relative else "") + re.escape("/".join(parts)) + "/.+", re.DOTALL)


def _load_vault_rule(tree: Tree) -> VaultRule | None:
    try:
        data, _ = tree.read(VAULT_SETTINGS_PATH, _MAX_SETTINGS_BYTES)
    except FileNotFoundError:
        # Obsidian writes no file before the first change of a setting
        return _MEDIA_IN_ROOT if _is_vault(tree) else None
    except (Damaged, Refused, OSError):
        return None
    try:
        return parse_vault_rule(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return None


def _is_vault(tree: Tree) -> bool:
    try:
        stat = tree.stat(VAULT_DIRECTORY)
    except (Refused, OSError):
        return False
    return stat is not None and stat.is_directory


@lru_cache(maxsize=64)
def _compile_patterns(patterns: tuple[str, ...]) -> "GitIgnoreSpec | None":
    """None: only files below `assets` are attachments."""
    lines = [line for line in patterns if line not in DEFAULT_ATTACHMENTS]
    if not lines:
        return None
    from pathspec import GitIgnoreSpec  # noqa: PLC0415  (most installations list nothing, and readers start without it)

    try:
        return GitIgnoreSpec.from_lines(lines)
    except ValueError as error:
        raise Damaged(f"mirror.attachments has a pattern that cannot be understood: {error}.") from error


ATTACH_EVERYTHING = AttachmentRules(vault=re.compile(".+", re.DOTALL))

IGNORE_PATH = ".mirrorignore"
PATTERN_FILES = frozenset(
    {IGNORE_PATH, VAULT_DIRECTORY, VAULT_SETTINGS_PATH}
)  # after a change of one of these, the whole tree is scanned again
_MAX_IGNORE_BYTES = 1 << 20


def pattern_state(tree: Tree) -> tuple[object, ...]:
    """A value that changes whenever the patterns of a tree may have changed."""
    has_vault = VAULT_DIRECTORY in tree.attachments and tree.stat(VAULT_DIRECTORY) is not None
    return (tree.stat(IGNORE_PATH), has_vault, tree.stat(VAULT_SETTINGS_PATH) if has_vault else None)


class Ignore:
    """The patterns of one tree. Never a reason to delete: they do not apply to entries already synced."""

    def __init__(self, text: str = "", rules: AttachmentRules | None = None) -> None:
        """*text*: patterns in gitignore syntax. Raises Damaged for an invalid pattern."""
        self.is_empty = True
        self.rules = rules or AttachmentRules()
        if text.strip():
            self._compile_patterns(text)

    @classmethod
    def load(cls, tree: Tree, rules: AttachmentRules | None = None) -> "Ignore":
        """
        The current patterns; a tree without the file ignores nothing. rules: None: those of the tree.

        Raises:
            Busy: the file is being written; Damaged, Refused: it is unusable. Keep using the previous patterns.
        """
        rules = rules or AttachmentRules.load(tree)
        try:
            data, _ = tree.read(IGNORE_PATH, _MAX_IGNORE_BYTES)
        except FileNotFoundError:
            return cls(rules=rules)
        try:
            return cls(data.decode("utf-8-sig"), rules)
        except UnicodeDecodeError as error:
            raise Damaged(f"{IGNORE_PATH} is not UTF-8; save it as UTF-8.") from error

    def _compile_patterns(self, text: str) -> None:
        from pathspec import GitIgnoreSpec  # noqa: PLC0415  (most trees ignore nothing, and readers start without it)

        try:
            self._spec = GitIgnoreSpec.from_lines(text.splitlines())
        except ValueError as error:
            raise Damaged(f"{IGNORE_PATH} has a pattern that cannot be understood: {error}.") from error
        self.is_empty = not any(pattern.include is not None for pattern in self._spec.patterns)

    def matches(self, path: str, is_directory: bool) -> bool:
        """Whether *path* is excluded; everything below an excluded directory is excluded too."""
        if self.is_empty:
            return False
        return self._spec.match_file(path + "/" if is_directory else path)

    def excludes_file(self, path: str) -> bool:
        """Whether the file at *path* is excluded, or lies beside the pages without being an attachment."""
        return self.rules.excludes(path) or self.matches(path, False)


class CurrentPatterns:
    """The patterns of one tree, looked for at every call, and read again when their files changed."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._loaded: tuple[tuple[object, ...], Ignore] = ((), Ignore())
        self._bare_root: Stat | None = None  # while the root has this stat, it holds no files with patterns

    def load(self) -> Ignore:
        """The current patterns; the previous ones while the current cannot be read."""
        state, patterns = self._loaded
        began, root = time.time_ns(), stat_of(os.fstat(self._tree.whole.descriptor))
        if root == self._bare_root:
            return patterns
        current = pattern_state(self._tree)
        if current != state:
            try:
                patterns = Ignore.load(self._tree)
            except (Busy, Damaged, Refused):
                return patterns
            self._loaded = current, patterns
        is_bare = not any(current) and root.is_settled(began) and self._tree.whole.lower is None
        self._bare_root = root if is_bare else None
        return patterns
