"""The file of a tree that a draft's first text stands for."""

from typing import NamedTuple

from mirrord.domain.entry import Digest
from mirrord.mirror.tree.kernel import Stat


class Replaced(NamedTuple):
    """
    A file as its reader found it. name: of its bytes in the draft's trash. new_digest: of the text in its place.
    """

    digest: Digest
    stat: Stat
    name: str
    new_digest: Digest
