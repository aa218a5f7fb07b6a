"""New files that are not synced: excluded by `.mirrorignore` at a tenant's root, or no attachments."""

from mirrord.errors import Damaged
from mirrord.mirror.attachments import VAULT_DIRECTORY, VAULT_SETTINGS_PATH, AttachmentRules
from mirrord.mirror.tree import Tree

IGNORE_PATH = ".mirrorignore"
PATTERN_FILES = frozenset(
    {IGNORE_PATH, VAULT_DIRECTORY, VAULT_SETTINGS_PATH}
)  # after a change of one of these, the whole tree is scanned again
_MAX_FILE_BYTES = 1 << 20


def pattern_state(tree: Tree) -> tuple[object, ...]:
    """A value that changes whenever the patterns of a tree may have changed."""
    vault = (
        (tree.stat(VAULT_SETTINGS_PATH), tree.stat(VAULT_DIRECTORY) is not None)
        if VAULT_DIRECTORY in tree.attachments
        else ()
    )
    return (tree.stat(IGNORE_PATH), *vault)


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
            data, _ = tree.read(IGNORE_PATH, _MAX_FILE_BYTES)
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
