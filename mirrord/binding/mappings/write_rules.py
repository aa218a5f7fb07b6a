"""What a mapping of mode `both` says about writing rows of the app: columns, owners of keys, nodes of the editor."""

from collections.abc import Mapping as ByKey
from dataclasses import dataclass, field
from enum import StrEnum

# Nodes and marks of TipTap's StarterKit, which every editor of TipTap has.
USUAL_NODES = frozenset(
    "doc paragraph text heading bulletList orderedList listItem codeBlock blockquote horizontalRule hardBreak "
    "bold italic strike code link".split()
)
NOW, NEXT, NEW_ID = "now", "+1", "uuid"  # values of a touched column; the last of new rows only


class Owner(StrEnum):
    """Which side may change a key of front matter."""

    BOTH = "both"
    IN = "in"  # the app
    OUT = "out"  # files and agents


@dataclass(frozen=True, slots=True)
class Touch:
    """
    A column that every write sets, or that of a new row.

    value: NOW, NEXT (the next number), NEW_ID, or a constant. is_constant: the last.
    """

    column: str
    value: str
    is_constant: bool = False


@dataclass(frozen=True, slots=True)
class Creation:
    """What new rows of the app have beside what their page says: the page's row, and that of its body."""

    of_page: tuple[Touch, ...] = ()
    of_body: tuple[Touch, ...] = ()


@dataclass(frozen=True, slots=True)
class WriteRules:
    """
    How rows of the app are written.

    of_page, of_body: what every write of the page's row, and of the row of its body, sets beside. plain: the column
    with the plain text of the body. nodes: names of nodes and marks that the app's editor knows, as in the document
    schema. owners: by the key of front matter; a key that is missing belongs to both. removes_rows: a row may be
    removed where the app has no column for deleted ones. creation: None: new pages get no rows.
    """

    of_page: tuple[Touch, ...] = ()
    of_body: tuple[Touch, ...] = ()
    plain: str | None = None
    nodes: frozenset[str] = USUAL_NODES
    owners: ByKey[str, Owner] = field(default_factory=dict)
    removes_rows: bool = False
    creation: Creation | None = None

    def owner_of(self, key: str) -> Owner:
        """Who may change *key* of the front matter."""
        return self.owners.get(key, Owner.BOTH)
