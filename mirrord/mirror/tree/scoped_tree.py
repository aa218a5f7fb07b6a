"""
A tree seen through a scope: what the scope hides is not there, and only what it permits can be changed.

Mirrord's own state passes; commands never take paths in it from their callers. Categories and collections are state
that agents name: what a rule from outside says of each decides.
"""

import errno
import os
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import contextmanager
from functools import lru_cache
from itertools import chain
from typing import Any

from mirrord.domain.place import record_directory
from mirrord.domain.scope import UNLIMITED, Scope
from mirrord.errors import OutOfScope
from mirrord.mirror.tree.kernel import OpenDescriptor
from mirrord.mirror.tree.replaced_file import Replaced
from mirrord.mirror.tree.tenant_tree import Layer, Stat, Tree
from mirrord.mirror.tree.tree_layout import printable

_MAX_REMEMBERED_PATHS = 65_536
_GROUP_DIRECTORIES = tuple(f"{record_directory(kind)}/" for kind in ("category", "collection"))

GroupRule = Callable[[Tree, Scope, str], bool]  # whether the scope shows the category or collection at a path


def hide_groups(_tree: Tree, _scope: Scope, _path: str) -> bool:
    """The rule where no other is given: a scope shows no category and no collection."""
    return False


class HiddenNames(Set[str]):
    """
    The names in a directory that a scoped tree hides, also those that come later.

    Equal to others that hid the same names when they were made; listings are reused then.
    """

    __slots__ = ("_directory", "_names", "_others", "_tree")

    def __init__(self, tree: "ScopedTree", directory: str, names: Iterable[str], others: Set[str]) -> None:
        """*names*: of all entries of the directory now. others: names that are hidden for another reason."""
        self._tree, self._directory, self._others = tree, directory, others
        self._names = frozenset(name for name in chain(names, others) if name in self)

    def __contains__(self, name: object) -> bool:
        return name in self._others or not self._tree.shows(_join_path(self._directory, str(name)))

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __bool__(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HiddenNames) and self._names == other._names

    def __hash__(self) -> int:
        return hash(self._names)

    @classmethod
    def _from_iterable(cls, it: Iterable[Any]) -> Any:
        return frozenset(it)  # of the names that are left of others

    def __or__(self, other: Set[Any]) -> "HiddenNames":
        return HiddenNames(self._tree, self._directory, self._names, frozenset(chain(self._others, other)))


class ScopedTree(Tree):
    """
    *tree*, seen through *scope*; it closes *tree*.

    A hidden path is free for every method. A directory that is only on the way to what may be seen is there if
    something in it is.
    """

    def __init__(self, tree: Tree, scope: Scope, group_rule: GroupRule = hide_groups) -> None:
        self._whole = tree
        self.scope = scope
        self.group_rule = group_rule
        self.lower = tree.lower
        self._can_read = lru_cache(_MAX_REMEMBERED_PATHS)(scope.can_read)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole, name)  # descriptor, root and abilities are those of the whole tree

    @property
    def whole(self) -> Tree:
        """As in Tree."""
        return self._whole

    def shows(self, path: str) -> bool:
        """As in Tree."""
        if _is_state(path):
            return not path.startswith(_GROUP_DIRECTORIES) or self.group_rule(self._whole, self.scope, path)
        return self._can_read(path) or self._holds_shown(path)

    def may_write(self, path: str) -> bool:
        """Whether what is at *path* may be made, changed and removed."""
        return _is_state(path) or self.scope.can_write(path)

    def close(self) -> None:
        """Close the whole tree."""
        self._whole.close()

    def stat(self, path: str) -> Stat | None:
        """As in Tree."""
        return self._whole.stat(path) if self.shows(path) else None

    def list_names(self, path: str) -> list[str]:
        """As in Tree."""
        self._check_shown(path)
        return [name for name in self._whole.list_names(path) if self.shows(_join_path(path, name))]

    def list_stats(self, path: str) -> dict[str, Stat]:
        """As in Tree."""
        self._check_shown(path)
        stats = self._whole.list_stats(path).items()
        return {name: stat for name, stat in stats if self.shows(_join_path(path, name))}

    def layers(self, path: str) -> tuple[Layer, ...]:
        """As in Tree."""
        if _is_state(path):
            return self._whole.layers(path)
        if not self.shows(path):
            return (Layer(self, frozenset()),)  # which does not open it
        try:
            names = self._whole.list_names(path)
        except OSError:  # no directory, or gone: who opens a layer is told
            names = []
        return tuple(
            Layer(layer.tree, HiddenNames(self, path, names, layer.hidden)) for layer in self._whole.layers(path)
        )

    def layer_of(self, path: str) -> Tree:
        """As in Tree."""
        return self._whole.layer_of(path)

    def own_entries(self) -> Iterator[tuple[str, Stat]]:
        """As in Tree."""
        return ((path, stat) for path, stat in self._whole.own_entries() if self.shows(path))

    def own_paths(self) -> Iterator[str]:
        """As in Tree."""
        return filter(self.shows, self._whole.own_paths())

    def claim(self, *paths: str, new_bytes: int = 0) -> None:
        """As in Tree. Raises OutOfScope for a path that may not be written."""
        for path in paths:
            self._check_writable(path)
        self._whole.claim(*paths, new_bytes=new_bytes)

    def claim_with_next_syncs(self, path: str, new_bytes: int) -> None:
        """As in Tree. Raises OutOfScope for a path that may not be written."""
        self._check_writable(path)
        self._whole.claim_with_next_syncs(path, new_bytes)

    def write_first_text(self, path: str, data: bytes, replaced: Replaced) -> bool:
        """As in Tree. Raises OutOfScope for a path that may not be written."""
        self._check_writable(path)
        return self._whole.write_first_text(path, data, replaced)

    @contextmanager
    def syncing_notes(self) -> Iterator[Sequence[int]]:
        """As in Tree."""
        with self._whole.syncing_notes() as descriptors:
            yield descriptors

    def claim_new_directory(self, path: str) -> None:
        """As in Tree."""
        self._check_directory(path)
        self._whole.claim_new_directory(path)

    def note_move(self, source: str, target: str) -> None:
        """As in Tree."""
        self._whole.note_move(source, target)

    def note_removal(self, path: str) -> None:
        """As in Tree."""
        self._whole.note_removal(path)

    def open_directory(self, path: str) -> OpenDescriptor:
        """As in Tree; also of a directory on the way to what may be made. Lists of a descriptor hide nothing."""
        if not (_is_state(path) or self.scope.may_contain(path)):
            raise _missing(path)
        return self._whole.open_directory(path)

    def make_directories(self, path: str, mode: int | None = None) -> None:
        """As in Tree."""
        self._check_directory(path)
        self._whole.make_directories(path, mode)

    def remove_directory(self, path: str) -> bool:
        """As in Tree; one that may not be written stays."""
        return self.may_write(path) and self._whole.remove_directory(path)

    def move(self, source: str, target: str) -> Stat:
        """As in Tree."""
        self._check_writable(source)
        self._check_writable(target)
        return self._whole.move(source, target)

    def exchange(self, first: str, other: str) -> None:
        """As in Tree."""
        self._check_writable(first)
        self._check_writable(other)
        self._whole.exchange(first, other)

    def probe_file_system(self, directory: int) -> None:
        """As in Tree."""
        self._whole.probe_file_system(directory)

    def out_of_scope(self, path: str) -> OutOfScope:
        """The error for a change of *path*; the same whether something is there or not."""
        return OutOfScope(f"{printable(path)!r} is outside what this token may write; its scope is {self.scope}.")

    def _open(self, path: str, flags: int) -> int:
        self._check_shown(path)
        return self._whole._open(path, flags)

    def _holds_shown(self, path: str) -> bool:
        """Whether *path* is a directory on the way to something that is shown."""
        if not self.scope.may_contain(path):
            return False
        stat = self._whole.stat(path)
        if stat is None or not stat.is_directory:
            return False
        try:
            return any(self.shows(_join_path(path, name)) for name in self._whole.list_names(path))
        except OSError:
            return False

    def _check_shown(self, path: str) -> None:
        if not self.shows(path):
            raise _missing(path)

    def _check_writable(self, path: str) -> None:
        if not self.may_write(path):
            raise self.out_of_scope(path)

    def _check_directory(self, path: str) -> None:
        if not (_is_state(path) or self.scope.may_contain_writable(path)):
            raise self.out_of_scope(path)


def scope_tree(tree: Tree, scope: Scope, group_rule: GroupRule) -> Tree:
    """*tree* seen through *scope*: itself if the scope has no limits."""
    return tree if scope.is_unlimited else ScopedTree(tree, scope, group_rule)


def scope_of(tree: Tree) -> Scope:
    """The scope that *tree* is seen through."""
    return tree.scope if isinstance(tree, ScopedTree) else UNLIMITED


def tree_as_seen(tree: Tree, through: Tree) -> Tree:
    """*tree* with the limits that *through* has."""
    return ScopedTree(tree, through.scope, through.group_rule) if isinstance(through, ScopedTree) else tree


def may_write(tree: Tree, path: str) -> bool:
    """Whether what is at *path* may be changed through *tree*."""
    return not isinstance(tree, ScopedTree) or tree.may_write(path)


def check_writable(tree: Tree, *paths: str) -> None:
    """Raise OutOfScope unless all these may be changed through *tree*."""
    for path in paths:
        if not may_write(tree, path):
            assert isinstance(tree, ScopedTree)
            raise tree.out_of_scope(path)


def check_owned(tree: Tree, *paths: str) -> None:
    """Raise OutOfScope unless all these may be moved and removed through *tree*, with everything below."""
    if isinstance(tree, ScopedTree):
        for path in paths:
            if not tree.may_write(path):
                raise tree.out_of_scope(path)
            if not tree.scope.owns(path):
                raise OutOfScope(
                    f"{printable(path)!r} can be neither moved nor deleted with this token, nor be a target, because "
                    f"not all below it is the token's to write; its scope is {tree.scope}."
                )


def _missing(path: str) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def _is_state(path: str) -> bool:
    """Whether *path* begins with a dot: mirrord's own state and settings, which no page is."""
    return path.startswith(".") and path.partition("/")[0] not in (".", "..")


def _join_path(directory: str, name: str) -> str:
    return f"{directory}/{name}" if directory else name
