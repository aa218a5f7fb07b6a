"""How the tree spells what somebody asks for in another case, or composed of other characters."""

import os

from mirrord.domain.place import name_key
from mirrord.mirror.tree import Tree


def spelt(tree: Tree, path: str) -> str | None:
    """*path* as the tree spells it; None if that is not there, or not the only one."""
    found = ""
    for part in path.split("/"):
        try:
            with tree.directory(found) as directory:
                names = os.listdir(directory)
        except (FileNotFoundError, NotADirectoryError):
            return None
        twins = [part] if part in names else [name for name in names if name_key(name) == name_key(part)]
        if len(twins) != 1:
            return None
        found = f"{found}/{twins[0]}".lstrip("/")
    return found
