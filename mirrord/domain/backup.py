"""What a backup of a tenant is: rows as lines, lines in chunks, chunks named by their digests, one list of all that."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

import orjson

from mirrord.domain.entry import digest_of
from mirrord.errors import Damaged

FORMAT = 1

# A chunk ends where the key of its last row says so, so that a row that came or changed moves no other boundary, and
# what did not change is found under the name it had in the backup before.
_LEAST_BYTES = 128 << 10
_MOST_BYTES = 4 << 20
_ONE_IN = 16  # keys


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some rows of a table. name: the digest of their lines, in hex."""

    name: str
    rows: int


@dataclass(frozen=True, slots=True)
class Table:
    """All that is kept of one table, in the order of its keys."""

    columns: tuple[str, ...]
    chunks: tuple[Chunk, ...]

    @property
    def rows(self) -> int:
        """How many there are."""
        return sum(chunk.rows for chunk in self.chunks)


@dataclass(frozen=True, slots=True)
class Manifest:
    """
    One backup of one tenant.

    number: of the backups of this name in one directory, each has the next. schema: the newest migration. made_at,
    tenant_made_at: by Postgres' clock. seq: of the tenant's clock. tables: by name, in the order in which they can be
    stored. files: those of the mirror whose bytes no row has. unread: paths of files that could not be read.
    """

    number: int
    schema: int
    tenant: str
    tenant_id: str
    tenant_made_at: str
    made_at: str
    seq: int
    tables: Mapping[str, Table]
    files: Table
    unread: tuple[str, ...]

    @property
    def rows(self) -> int:
        """How many there are, in all tables."""
        return sum(table.rows for table in self.tables.values())


class Cutter:
    """Cuts the lines of one table into chunks."""

    def __init__(self) -> None:
        self._lines: list[bytes] = []
        self._size = 0

    def add(self, key: str, line: bytes) -> list[bytes] | None:
        """Take the next line, without its end; the lines of a chunk if this was its last. key: of its row."""
        self._lines.append(line)
        self._size += len(line) + 1
        if self._size < _LEAST_BYTES or (self._size < _MOST_BYTES and digest_of(key.encode())[0] % _ONE_IN):
            return None
        return self.rest()

    def rest(self) -> list[bytes]:
        """The lines since the last chunk."""
        lines, self._lines, self._size = self._lines, [], 0
        return lines


def spelled(manifest: Manifest) -> bytes:
    """As it is stored: JSON for people and programs."""
    return orjson.dumps({"format": FORMAT} | asdict(manifest), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def manifest_of(data: bytes) -> Manifest:
    """What spelled() wrote. Raises Damaged if it is something else, or of a newer mirrord."""
    try:
        raw = orjson.loads(data)
        if raw.pop("format") != FORMAT:
            raise Damaged("it was made by another mirrord, whose format this one does not know")
        tables = {name: _table(table) for name, table in raw.pop("tables").items()}
        return Manifest(tables=tables, files=_table(raw.pop("files")), unread=tuple(raw.pop("unread")), **raw)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Damaged("it is no list of a backup") from error


def _table(raw: Mapping[str, list[Mapping[str, object]]]) -> Table:
    columns = tuple(str(name) for name in raw["columns"])
    return Table(columns, tuple(Chunk(str(one["name"]), int(str(one["rows"]))) for one in raw["chunks"]))
