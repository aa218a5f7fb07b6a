"""
What an exported tree says of itself, in `.mirrord-export/`: whose it is, how far it came, and what was written.

The list of files is one that coreutils understand: `b2sum --check .mirrord-export/files.b2`.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field

from mirrord.domain.entry import Digest
from mirrord.errors import Damaged

DIRECTORY = ".mirrord-export"
FACTS = f"{DIRECTORY}/manifest.json"
FILES = f"{DIRECTORY}/files.b2"
BUILDING = f"{DIRECTORY}/new"

_FORMAT = 1
_LINE = re.compile(rb"(\\?)([0-9a-f]{64})  (.+)")
_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r"}
_ESCAPED = re.compile(r"\\([\\nr])")
_UNESCAPED = {"\\": "\\", "n": "\n", "r": "\r"}


@dataclass(frozen=True, slots=True)
class Manifest:
    """
    tenant, tenant_id: whose rows these are. seq: of the tenant's change feed at that moment; begun: UTC, ISO 8601.
    complete: False while an export is under way, was interrupted, or had to leave something out. counts: of what the
    tenant has, by kind. folders: directories that are rows themselves. digest: of the list of files, in hex.
    """

    tenant: str
    tenant_id: str
    seq: int
    begun: str
    complete: bool = False
    counts: Mapping[str, int] = field(default_factory=dict)
    folders: Sequence[str] = ()
    digest: str | None = None


def encoded(manifest: Manifest) -> bytes:
    """The text of the manifest's file."""
    return json.dumps({"format": _FORMAT, **asdict(manifest)}, indent=2, ensure_ascii=False).encode() + b"\n"


def decoded(text: bytes) -> Manifest:
    """Raises Damaged for what is no manifest, or one of a later mirrord."""
    try:
        raw = json.loads(text)
        if raw.pop("format") == _FORMAT:
            return Manifest(**raw)
    except (ValueError, KeyError, TypeError, AttributeError):
        pass
    raise Damaged(f"{FACTS} is no manifest that this mirrord understands.")


def line(path: str, digest: Digest) -> bytes:
    """The line of a file in the list; a path with a line break or a backslash is escaped as coreutils do."""
    escaped = "".join(_ESCAPES.get(sign, sign) for sign in path)
    mark = "\\" if escaped != path else ""
    return f"{mark}{digest.hex()}  {escaped}\n".encode("utf-8", "surrogateescape")


def listed(lines: Iterable[bytes]) -> Iterator[tuple[str, Digest]]:
    """(path, digest) of every line; one that was torn by a crash is passed over."""
    for one in lines:
        found = _LINE.fullmatch(one.removesuffix(b"\n")) if one.endswith(b"\n") else None
        if found is not None:
            path = found[3].decode("utf-8", "surrogateescape")
            if found[1]:
                path = _ESCAPED.sub(lambda escape: _UNESCAPED[escape[1]], path)
            yield path, Digest(bytes.fromhex(found[2].decode("ascii")))
