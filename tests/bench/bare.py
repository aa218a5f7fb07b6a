"""
What mirrord's ways cost at least: loops that do one thing and nothing else, each a process of its own.

    python -m tests.bench.bare rows DIRECTORY DSN      watch, read, hash, one upsert into a table of its own
    python -m tests.bench.bare files DIRECTORY DSN     listen, read one row, replace its file durably

Both print "ready" and go on until they are ended.
"""

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import watchfiles

TABLE = "CREATE TABLE IF NOT EXISTS public.bare (path text PRIMARY KEY, digest bytea, text text)"
UPSERT = """INSERT INTO public.bare VALUES (%s, %s, %s)
            ON CONFLICT (path) DO UPDATE SET digest = EXCLUDED.digest, text = EXCLUDED.text"""
CHANNEL = "bare_files"


def to_rows(directory: str, dsn: str) -> None:
    """What changes in the tree goes into rows."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(TABLE)
        changes = watchfiles.watch(
            directory, watch_filter=None, debounce=50, step=3, rust_timeout=250, yield_on_timeout=True
        )
        next(changes)  # nothing happens yet: it returns when it has watched for a while
        print("ready", flush=True)
        for batch in changes:
            for path in {path for _, path in batch if path.endswith(".md")}:
                _store(connection, Path(path))


def to_files(directory: str, dsn: str) -> None:
    """What rings goes into files; a path is the name of a file in *directory*."""
    holder = os.open(directory, os.O_RDONLY)
    with psycopg.connect(dsn, autocommit=True) as listener, psycopg.connect(dsn, autocommit=True) as reader:
        reader.execute(TABLE)
        listener.execute(f"LISTEN {CHANNEL}")
        print("ready", flush=True)
        for note in listener.notifies():
            row = reader.execute("SELECT text FROM public.bare WHERE path = %s", [note.payload]).fetchone()
            assert row is not None
            replace_durably(holder, note.payload, row[0].encode())


def replace_durably(holder: int, name: str, data: bytes) -> None:
    """Write, fsync, rename over *name* in the directory *holder*, fsync that."""
    descriptor = os.open("new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, dir_fd=holder)
    os.write(descriptor, data)
    os.fsync(descriptor)
    os.close(descriptor)
    os.rename("new", name, src_dir_fd=holder, dst_dir_fd=holder)
    os.fsync(holder)


@contextmanager
def looping(way: str, directory: Path, dsn: str) -> Iterator[None]:
    """The loop *way* at work, for the length of a `with`."""
    command = [sys.executable, "-m", "tests.bench.bare", way, str(directory), dsn]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline(), f"the bare loop to {way} ended before it was ready"
            yield
        finally:
            process.terminate()


def _store(connection: psycopg.Connection, path: Path) -> None:
    data = path.read_bytes()
    connection.execute(UPSERT, [str(path), hashlib.blake2b(data, digest_size=32).digest(), data.decode()])


if __name__ == "__main__":
    {"rows": to_rows, "files": to_files}[sys.argv[1]](*sys.argv[2:])
