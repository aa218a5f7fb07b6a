"""Categories and collections of a tree within a scope: which it shows, and which it lets change."""

from collections.abc import Iterable
from functools import lru_cache

from mirrord.commands.core.failure import Failed, failure_of
from mirrord.commands.core.session import Session
from mirrord.domain.entry import MAX_FILE_BYTES
from mirrord.domain.place import name_of_record, record_directory
from mirrord.domain.scope import Scope
from mirrord.errors import Busy, Damaged, OutOfScope, Refused
from mirrord.mirror.tree.scoped_tree import scope_of
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.research.collections.collection_rules import (
    CATEGORIES,
    COLLECTIONS,
    GROUP_KINDS,
    GroupKind,
    PageGroup,
    key_of,
)
from mirrord.research.collections.group_visibility import directories_of_group, owns_directories, shows_directories

_MAX_PARSED = 2_000  # categories and collections


def shows_group(tree: Tree, scope: Scope, path: str) -> bool:
    """Whether *scope* shows the category or collection at *path* of the whole *tree*."""
    kind, _, name = (name_of_record(path) or "").partition("/")
    group = _read_group(tree, GROUP_KINDS[kind], name) if kind in GROUP_KINDS else None
    if group is None:
        return False
    return shows_directories(scope, _directories_of(tree, GROUP_KINDS[kind], group))


def check_change(session: Session, kind: GroupKind, before: PageGroup, after: PageGroup) -> None:
    """Raises Failed, OUT_OF_SCOPE, unless the session may write all pages of a group, as it was and as it will be."""
    scope, tree = scope_of(session.tree), session.tree.whole
    if scope.is_unlimited:
        return
    if kind is COLLECTIONS and not after.members:
        raise _out_of_scope(f"Without a category the collection {before.name} would be hidden from this token.")
    directories = [*_directories_of(tree, kind, before), *_directories_of(tree, kind, after)]
    if not owns_directories(scope, directories):
        sentence = f"Not all pages of the {kind.name} {before.name}, as it is and would be, are this token's to write"
        raise _out_of_scope(f"{sentence}; its scope is {scope}.")


def check_whole_tenant(session: Session, kind: GroupKind) -> None:
    """
    Raises Failed, OUT_OF_SCOPE, within a scope, for what gives or takes a name.

    Whether a name is free would tell of hidden groups, and a removed category is taken out of these.
    """
    if not scope_of(session.tree).is_unlimited:
        sentence = (
            f"Names of {kind.plural} are the whole tenant's: a token with patterns makes, renames and removes none."
        )
        raise _out_of_scope(sentence)


def _out_of_scope(sentence: str) -> Failed:
    return failure_of(OutOfScope(sentence))


def _directories_of(tree: Tree, kind: GroupKind, group: PageGroup) -> list[str | None]:
    spellings = {key_of(name): name for name in _category_names(tree)} if kind is COLLECTIONS else {}

    def find_category(name: str) -> PageGroup | None:
        return _read_group(tree, CATEGORIES, spellings.get(key_of(name), name))

    return directories_of_group(kind, group, find_category)


def _category_names(tree: Tree) -> Iterable[str]:
    directory = record_directory(CATEGORIES.name)
    try:
        names = [name_of_record(f"{directory}/{file}") for file in tree.list_names(directory)]
    except (FileNotFoundError, NotADirectoryError):
        return ()
    return [name.partition("/")[2] for name in names if name is not None]


def _read_group(tree: Tree, kind: GroupKind, name: str) -> PageGroup | None:
    """None: it is not there, or cannot be read."""
    try:
        data, _ = tree.snapshot(kind.path(name), MAX_FILE_BYTES)
    except (OSError, Busy, Damaged, Refused):
        return None
    return _parse_group(kind.name, name, data)


@lru_cache(_MAX_PARSED)
def _parse_group(kind: str, name: str, data: bytes) -> PageGroup | None:
    """Kept by the bytes: each collection of a list asks for the same categories."""
    from mirrord.markdown.frontmatter.page_text import decode  # noqa: PLC0415  (servers start without parsers)
    from mirrord.research.collections.collection_yaml import read_group  # noqa: PLC0415  (as above)

    try:
        return read_group(GROUP_KINDS[kind], name, decode(data))
    except Damaged:
        return None
