"""
The manifest of an exported tree, in `.mirrord-export/`: its tenant, its state, and its files.

The list of files has the format of coreutils: `b2sum --check .mirrord-export/files.b2`.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field

from mirrord.domain.entry import Digest
from mirrord.errors import Damaged

EXPORT_DIRECTORY = ".mirrord-export"
MANIFEST_PATH = f"{EXPORT_DIRECTORY}/manifest.json"
FILE_LIST_PATH = f"{EXPORT_DIRECTORY}/files.b2"
BUILD_PATH = f"{EXPORT_DIRECTORY}/new"

_FORMAT = 1
_LINE = re.compile(rb"(\\?)([0-9a-f]{64})  (.+)")
_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r"}
_ESCAPED = re.compile(r"\\([\\nr])")
_UNESCAPED = {"\\": "\\", "n": "\n", "r": "\r"}


@dataclass(frozen=True, slots=True)
class Manifest:
    """
    tenant, tenant_id: the owner of the rows. seq: of the tenant's change feed at the start; begun: UTC, ISO 8601.
    complete: False while an export runs, after an interruption, or if it left something out. counts: of the tenant's
    entries, by kind. folders: directories that are rows themselves. digest: of the list of files, in hex.
    """

    tenant: str
    tenant_id: str
    seq: int
    begun: str
    complete: bool = False
    counts: Mapping[str, int] = field(default_factory=dict)
    folders: Sequence[str] = ()
    digest: str | None = None


def encode_manifest(manifest: Manifest) -> bytes:
    """The bytes of the manifest file."""
    return json.dumps({"format": _FORMAT, **asdict(manifest)}, indent=2, ensure_ascii=False).encode() + b"\n"


def decode_manifest(text: bytes) -> Manifest:
    """Parse the manifest file. Raises Damaged for other content, or a manifest of a later mirrord."""
    try:
        raw = json.loads(text)
        if raw.pop("format") == _FORMAT:
            return Manifest(**raw)
    except (ValueError, KeyError, TypeError, AttributeError):
        pass
    raise Damaged(f"{MANIFEST_PATH} is no manifest that this mirrord understands.")


def line_of(path: str, digest: Digest) -> bytes:
    """The line of a file in the list; line breaks and backslashes of a path are escaped as in coreutils."""
    escaped = "".join(_ESCAPES.get(sign, sign) for sign in path)
    mark = "\\" if escaped != path else ""
    return f"{mark}{digest.hex()}  {escaped}\n".encode("utf-8", "surrogateescape")


def parse_lines(lines: Iterable[bytes]) -> Iterator[tuple[str, Digest]]:
    """(path, digest) of every line; a line torn by a crash is skipped."""
    for line_bytes in lines:
        match = _LINE.fullmatch(line_bytes.removesuffix(b"\n")) if line_bytes.endswith(b"\n") else None
        if match is not None:
            path = match[3].decode("utf-8", "surrogateescape")
            if match[1]:
                path = _ESCAPED.sub(lambda escape: _UNESCAPED[escape[1]], path)
            yield path, Digest(bytes.fromhex(match[2].decode("ascii")))
