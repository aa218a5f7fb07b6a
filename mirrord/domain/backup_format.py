"""The format of a backup: rows as lines, lines in chunks, chunks named by digest, one list of all."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

import orjson

from mirrord.domain.entry import digest_of
from mirrord.errors import Damaged

FORMAT = 1

# The key of a row decides whether a chunk ends there, so that added and changed rows move no other boundary, and
# unchanged chunks keep their names in the next backup.
_MIN_CHUNK_BYTES = 128 << 10
_MAX_CHUNK_BYTES = 4 << 20
_KEYS_PER_CHUNK = 16  # keys; one of them ends a chunk on average


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some rows of a table. name: the digest of its lines, in hex."""

    name: str
    rows: int


@dataclass(frozen=True, slots=True)
class Table:
    """The chunks of one table, in the order of its keys."""

    columns: tuple[str, ...]
    chunks: tuple[Chunk, ...]

    @property
    def rows(self) -> int:
        """The number of rows."""
        return sum(chunk.rows for chunk in self.chunks)


@dataclass(frozen=True, slots=True)
class Manifest:
    """
    One backup of one tenant.

    number: rises by one with each backup of this name in a directory. schema: the newest migration. made_at,
    tenant_made_at: by Postgres' clock. seq: of the tenant's clock. tables: by name, in the order in which they can be
    restored. files: of the mirror without their bytes in a row. unread: paths of files that could not be read. dialect:
    of the tenant's pages, by name; None: not known, because an earlier version made the backup.
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
    dialect: str | None = None

    @property
    def rows(self) -> int:
        """The number of rows in all tables."""
        return sum(table.rows for table in self.tables.values())


class Chunker:
    """Splits the lines of one table into chunks."""

    def __init__(self) -> None:
        self._lines: list[bytes] = []
        self._size = 0

    def add(self, key: str, line: bytes) -> list[bytes] | None:
        """Add the next line, without its ending; return the lines of a chunk that it completes. key: of its row."""
        self._lines.append(line)
        self._size += len(line) + 1
        if self._size < _MIN_CHUNK_BYTES or (
            self._size < _MAX_CHUNK_BYTES and digest_of(key.encode())[0] % _KEYS_PER_CHUNK
        ):
            return None
        return self.flush()

    def flush(self) -> list[bytes]:
        """The lines since the last chunk."""
        lines, self._lines, self._size = self._lines, [], 0
        return lines


def encode_manifest(manifest: Manifest) -> bytes:
    """The manifest as stored: JSON for people and programs."""
    return orjson.dumps({"format": FORMAT} | asdict(manifest), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def manifest_of(data: bytes) -> Manifest:
    """The manifest that spelled() wrote. Raises Damaged for other data, or a newer format."""
    try:
        raw = orjson.loads(data)
        if raw.pop("format") != FORMAT:
            raise Damaged("its format belongs to another version of mirrord")
        tables = {name: _read_table(table) for name, table in raw.pop("tables").items()}
        return Manifest(tables=tables, files=_read_table(raw.pop("files")), unread=tuple(raw.pop("unread")), **raw)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Damaged("it is no manifest of a backup") from error


def _read_table(raw: Mapping[str, list[Mapping[str, object]]]) -> Table:
    columns = tuple(str(name) for name in raw["columns"])
    return Table(columns, tuple(Chunk(str(chunk["name"]), int(str(chunk["rows"]))) for chunk in raw["chunks"]))
