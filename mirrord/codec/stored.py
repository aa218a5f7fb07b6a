"""The document of a text as Postgres stores it. Imports the codec only, so that a worker process stays small."""

import orjson

from mirrord.codec.reader import read


def stored(text: str) -> bytes:
    """The TipTap document of *text* as JSON that `jsonb` takes: it has no place for NUL."""
    return orjson.dumps(read(text)).replace(b"\\u0000", b"\\ufffd")
