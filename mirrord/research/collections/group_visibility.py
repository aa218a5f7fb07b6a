"""PURE: which categories and collections a scope shows and owns: those of directories that it covers as a whole."""

from collections.abc import Callable, Collection

from mirrord.domain.scope import Scope
from mirrord.research.collections.collection_rules import CATEGORIES, GroupKind, PageGroup

FindCategory = Callable[[str], PageGroup | None]  # by its name; None: it is not there, or cannot be read
Directories = Collection[str | None]  # of the pages of a group; None: of a category that is not there


def directories_of_group(kind: GroupKind, group: PageGroup, find_category: FindCategory) -> list[str | None]:
    """The directories of the pages of *group*; None: of a category that is not there, or cannot be read."""
    if kind is CATEGORIES:
        return [group.directory]
    categories = map(find_category, group.members)
    return [category.directory if category is not None else None for category in categories]


def shows_directories(scope: Scope, directories: Directories) -> bool:
    """
    Whether *scope* shows a group with these directories.

    A category where everything below its directory is seen, so that neither its patterns nor its pages tell of more; a
    collection where all its categories are, and it has some.
    """
    return bool(directories) and all(directory is not None and scope.reads_all(directory) for directory in directories)


def owns_directories(scope: Scope, directories: Directories) -> bool:
    """Whether all pages of a group with these directories may be written."""
    return all(directory is not None and scope.owns(directory) for directory in directories)
