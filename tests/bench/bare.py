"""
What edit → row costs at least: watch, read, hash, one upsert into a table of its own, nothing else.

    python -m tests.bench.bare DIRECTORY DSN      prints "watching" and goes on until it is ended
"""

import hashlib
import sys
from pathlib import Path

import psycopg
import watchfiles

TABLE = "CREATE TABLE IF NOT EXISTS public.bare (path text PRIMARY KEY, digest bytea, text text)"
UPSERT = """INSERT INTO public.bare VALUES (%s, %s, %s)
            ON CONFLICT (path) DO UPDATE SET digest = EXCLUDED.digest, text = EXCLUDED.text"""


def main(directory: str, dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(TABLE)
        changes = watchfiles.watch(
            directory, watch_filter=None, debounce=50, step=5, rust_timeout=250, yield_on_timeout=True
        )
        next(changes)  # nothing happens yet: it returns when it has watched for a while
        print("watching", flush=True)
        for batch in changes:
            for path in {path for _, path in batch if path.endswith(".md")}:
                _store(connection, Path(path))


def _store(connection: psycopg.Connection, path: Path) -> None:
    data = path.read_bytes()
    connection.execute(UPSERT, [str(path), hashlib.blake2b(data, digest_size=32).digest(), data.decode()])


if __name__ == "__main__":
    main(*sys.argv[1:])
