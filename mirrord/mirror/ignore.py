"""`.mirrorignore` at a tenant's root, in gitignore syntax: what is not taken in while it is new."""

from mirrord.errors import Damaged
from mirrord.mirror.tree import Tree

PATH = ".mirrorignore"
_LIMIT_BYTES = 1 << 20


class Ignore:
    """The patterns of one tree. Never a reason to delete: it says nothing about entries already synced."""

    def __init__(self, text: str = "") -> None:
        """Raises Damaged if a pattern cannot be understood."""
        self.is_empty = True
        if text.strip():
            self._understand(text)

    @classmethod
    def load(cls, tree: Tree) -> "Ignore":
        """
        The patterns as they are now; a tree without the file ignores nothing.

        Raises:
            Busy: the file is being written; Damaged, Refused: it cannot be taken. Go on with the patterns before.
        """
        try:
            data, _ = tree.read(PATH, _LIMIT_BYTES)
        except FileNotFoundError:
            return cls()
        try:
            return cls(data.decode("utf-8-sig"))
        except UnicodeDecodeError as error:
            raise Damaged(f"{PATH} is not UTF-8; save it as UTF-8.") from error

    def _understand(self, text: str) -> None:
        from pathspec import GitIgnoreSpec  # noqa: PLC0415  (most trees ignore nothing, and readers start without it)

        try:
            self._spec = GitIgnoreSpec.from_lines(text.splitlines())
        except ValueError as error:
            raise Damaged(f"{PATH} has a pattern that cannot be understood: {error}.") from error
        self.is_empty = not any(pattern.include is not None for pattern in self._spec.patterns)

    def matches(self, path: str, is_directory: bool) -> bool:
        """Whether *path* is kept out; what lies below a directory that is, is kept out too."""
        if self.is_empty:
            return False
        return self._spec.match_file(path + "/" if is_directory else path)
