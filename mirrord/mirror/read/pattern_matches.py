"""Which patterns of paths mean something that is in a tree now."""

from collections.abc import Iterable

from mirrord.domain.scope import PathPattern
from mirrord.mirror.tree.tenant_tree import Tree


def find_unmatched(tree: Tree, patterns: Iterable[PathPattern]) -> list[PathPattern]:
    """Those of *patterns* that mean no file and no directory of *tree*; only where they can, it is looked for."""
    unmatched, pending = list(dict.fromkeys(patterns)), [""]
    while pending and unmatched:
        directory = pending.pop()
        for name, stat in tree.list_stats(directory).items():
            path = f"{directory}/{name}" if directory else name
            if name.startswith("."):  # no pages, and state of programs
                continue
            unmatched = [pattern for pattern in unmatched if not pattern.permits(path)]
            if stat.is_directory and any(pattern.can_go_on(path) for pattern in unmatched):
                pending.append(path)
    return unmatched
