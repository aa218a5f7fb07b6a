"""How the tree spells an asked path: case and the composition of characters may differ."""

from mirrord.domain.place import name_key
from mirrord.mirror.tree.tenant_tree import Tree


def spelling_in_tree(tree: Tree, path: str) -> str | None:
    """*path* as the tree spells it; None if it is missing or ambiguous."""
    spelled_path = ""
    for part in path.split("/"):
        try:
            names = tree.list_names(spelled_path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        matching_names = [part] if part in names else [name for name in names if name_key(name) == name_key(part)]
        if len(matching_names) != 1:
            return None
        spelled_path = f"{spelled_path}/{matching_names[0]}".lstrip("/")
    return spelled_path
