"""What may be written in the transaction that saves the file of a lone page, such as the row of an app."""

from dataclasses import dataclass
from typing import Protocol

from mirrord.db.database import Connection
from mirrord.domain.entry import EntryId, TenantId


class NoJointSave(Exception):
    """What accompanies a save cannot be written: the page is to be saved without it, in another transaction."""


@dataclass(frozen=True, slots=True)
class PageSave:
    """A page as its file was saved. version: of the row, which is written and not committed yet."""

    entry: EntryId
    version: int
    text: str


class JointSave(Protocol):
    """What accompanies the save of one page."""

    async def ask(self) -> None:
        """The page is saved with the statement that follows: ask, with that, what accompanies it."""

    async def carry(self, save: PageSave) -> None:
        """Write it, in the same transaction. Raises NoJointSave if that fails."""

    def conclude(self) -> None:
        """The transaction is committed."""


class SaveCompanion(Protocol):
    """Knows what accompanies saves."""

    async def begin(self, connection: Connection, tenant: TenantId, entry: EntryId) -> JointSave | None:
        """Ask, with the statement that follows, whether a save of the page *entry* is accompanied; None: it is not."""
