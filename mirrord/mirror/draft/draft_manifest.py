"""
The manifest of a draft, `manifest.jsonl`: which paths are the draft's, and what the tree had there before.

A path without a line is the tree's. A line is written after what it relies on is durable, and before the draft's files
change; it is durable before they change, or, where one file is replaced, with the place of its new text. After a power
cut in between, that text is a file without a line, which means nothing.

The line of a first text becomes durable together with it, so it names the digests of both files that it relies on. As
long as it is the last line it counts only where both are there. Each line after it is written when they are durable.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from mirrord.domain.entry import Digest
from mirrord.errors import Damaged
from mirrord.mirror.tree import kernel
from mirrord.mirror.tree.kernel import Stat
from mirrord.mirror.tree.tree_layout import SUFFIX, renamed_path

MANIFEST_NAME = "manifest.jsonl"


class ClaimKind(StrEnum):
    """What the tree had at a claimed path."""

    FILE = "file"
    DIRECTORY = "directory"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Claim:
    """
    A path that is the draft's, and what the tree had there.

    digest, stat: of the tree's file when it was copied; None for a directory and for nothing.
    """

    path: str
    kind: ClaimKind
    digest: Digest | None = None
    stat: Stat | None = None


@dataclass(frozen=True, slots=True)
class FirstText:
    """
    The claim of a page with its first text in a draft.

    digest: of that text. kept_name: of the file in the draft's trash with the bytes that it stands for.
    """

    claim: Claim
    digest: Digest
    kept_name: str


class Manifest:
    """
    The claims of a draft, and where its copied files are now.

    sources: by the current path of a file that was copied, its path in the tree. page_count: of claimed pages.
    copied_bytes: the size of all copied files. unconfirmed: the first text in the last line that was loaded.
    """

    def __init__(self, directory: int) -> None:
        """*directory*: descriptor of the draft's directory, for the length of the call."""
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        self._descriptor = os.open(MANIFEST_NAME, flags, 0o600, dir_fd=directory)
        self.claims: dict[str, Claim] = {}
        self._claimed_directories: dict[str, bool] = {}  # whether what is in a directory is claimed with it
        self.sources: dict[str, str] = {}
        self.page_count = self.copied_bytes = 0
        self.last_move: tuple[str, str] | None = None
        self._is_durable = True
        self._unwritten_claims: list[Claim] = []
        self.unconfirmed: FirstText | None = None
        self._void_path: str | None = None  # of a last line that counts for nothing
        self._loaded_bytes = 0
        self._has_torn_line = False
        try:
            self._load_claims()
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            self.close()
            raise Damaged("The manifest of this change set cannot be read.") from error

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def is_claimed(self, path: str) -> bool:
        """Whether *path*, or a directory above it, is claimed."""
        if path in self.claims:
            return True
        directory = path.rpartition("/")[0]
        return bool(directory) and self._is_directory_claimed(directory)

    def _is_directory_claimed(self, directory: str) -> bool:
        answers = self._claimed_directories  # a claim in another thread begins new ones, and this answer may be older
        is_claimed = answers.get(directory)
        if is_claimed is None:
            is_claimed = answers[directory] = self.is_claimed(directory)
        return is_claimed

    @property
    def files(self) -> Mapping[str, Claim]:
        """The claims of files that the tree had, by path."""
        return {path: claim for path, claim in self.claims.items() if claim.kind is ClaimKind.FILE}

    @property
    def moved_from(self) -> Mapping[str, str | None]:
        """See Tree.moved_from."""
        moved: dict[str, str | None] = {path: source for path, source in self.sources.items() if path != source}
        return {path: None for path in self.files if path not in self.sources} | moved

    @property
    def has_unwritten_claims(self) -> bool:
        """Whether claims were added since the last write_claims()."""
        return bool(self._unwritten_claims)

    def add(self, claims: Iterable[Claim]) -> None:
        """Record *claims*; their lines are written by write_claims(), and durable after the next sync."""
        for claim in claims:
            self._unwritten_claims.append(claim)
            self._add_claim(claim)

    def write_claims(self) -> None:
        """Write the lines of new claims: what they rely on is durable."""
        self._append_lines(map(_encode_claim, self._unwritten_claims))
        self._unwritten_claims = []

    def forget_unwritten_claims(self) -> None:
        """Give up claims that rely on what could not be made durable."""
        for claim in self._unwritten_claims:
            self._drop_claim(claim.path)
            self.sources.pop(claim.path, None)
        self._unwritten_claims, self._claimed_directories = [], {}

    def begin_first_text(self, first: FirstText) -> None:
        """Write the line of a first text, whose files are written; the caller syncs them with it, within syncing()."""
        self._append_lines([_encode_first_text(first)])
        self._void_path = first.claim.path  # until it is confirmed

    def confirm_first_text(self, first: FirstText) -> None:
        """
        Record the claim of a first text whose files and line are durable.

        What is written need not be: before the text changes, every line is made durable.
        """
        self._void_path, self.unconfirmed = None, first
        self._add_claim(first.claim)
        self._append_lines([_encode_claim(first.claim)])
        self.unconfirmed = None

    def void_first_text(self, first: FirstText) -> None:
        """Let the last line, which is of *first*, count for nothing: its files are not there."""
        self._withdraw(first.claim.path)
        self._void_path, self.unconfirmed = first.claim.path, None

    @property
    def has_grown(self) -> bool:
        """Whether the file has more complete lines than were loaded."""
        more_bytes = max(os.fstat(self._descriptor).st_size - self._loaded_bytes, 0)
        return b"\n" in os.pread(self._descriptor, more_bytes, self._loaded_bytes)

    def note_move(self, source: str, target: str) -> None:
        """Record durably that the file or directory at *source* moves to *target*."""
        self._append_lines([{"moved": [source, target]}])
        self.sync()
        self._move_paths(source, target)

    def note_removal(self, path: str) -> None:
        """Record durably that the copied file at *path* is gone."""
        if path in self.sources:
            self._append_lines([{"removed": path}])
            self.sync()
            del self.sources[path]

    def note_withdrawal(self, path: str) -> None:
        """Record durably that the file at *path* is the tree's again."""
        self._append_lines([{"withdrawn": path}])
        self._withdraw(path)  # as the next to load the file finds it, also if the disk fails now
        self.sync()

    def sync(self) -> None:
        """Make all lines durable."""
        with self.syncing() as descriptors:
            for descriptor in descriptors:
                kernel.fsync(descriptor)

    @contextmanager
    def syncing(self) -> Iterator[Sequence[int]]:
        """The descriptor of the file if lines in it are not durable; the caller syncs it within the `with`."""
        yield () if self._is_durable else (self._descriptor,)
        self._is_durable = True

    def _append_lines(self, rows: Iterable[Mapping[str, object]]) -> None:
        """Write lines for *rows*, or none of them if the disk takes only a part."""
        void_rows = [] if self._void_path is None else [{"withdrawn": self._void_path}]
        text = "".join(f"{json.dumps(row)}\n" for row in (*void_rows, *rows))
        self._drop_torn_line()
        size = os.fstat(self._descriptor).st_size
        self._is_durable = False
        try:
            kernel.write(self._descriptor, text.encode())
        except OSError:
            os.ftruncate(self._descriptor, size)  # else the next line would be glued to a part of this one
            raise
        self._void_path = None

    def _drop_torn_line(self) -> None:
        """Remove the part of a line that was loaded last; who only reads leaves it, as it may be written just now."""
        if self._has_torn_line and not self.has_grown:
            os.ftruncate(self._descriptor, self._loaded_bytes)
            self._has_torn_line = False

    def _add_claim(self, claim: Claim) -> None:
        self._drop_claim(claim.path)
        self.claims[claim.path] = claim
        self._count_claim(claim, 1)
        self._claimed_directories = {}
        if claim.kind is ClaimKind.FILE:
            self.sources[claim.path] = claim.path

    def _drop_claim(self, path: str) -> None:
        if (claim := self.claims.pop(path, None)) is not None:
            self._count_claim(claim, -1)

    def _count_claim(self, claim: Claim, sign: int) -> None:
        self.page_count += sign * claim.path.endswith(SUFFIX)
        self.copied_bytes += sign * (claim.stat.size if claim.stat is not None else 0)

    def _move_paths(self, source: str, target: str) -> None:
        self.sources = {renamed_path(path, source, target): origin for path, origin in self.sources.items()}
        self.last_move = (source, target)

    def _withdraw(self, path: str) -> None:
        self._drop_claim(path)
        self.sources.pop(path, None)
        self._claimed_directories = {}

    def _load_claims(self) -> None:
        data = os.pread(self._descriptor, os.fstat(self._descriptor).st_size, 0)
        complete_lines = data[: data.rfind(b"\n") + 1]
        self._has_torn_line = len(complete_lines) < len(data)  # what it was for did not begin
        self._loaded_bytes = len(complete_lines)
        for row in _decode_rows(complete_lines):
            self.last_move = self.unconfirmed = None
            if "moved" in row:
                self._move_paths(*row["moved"])
            elif "sources" in row:
                self.sources = dict(row["sources"])
            elif "removed" in row:
                self.sources.pop(row["removed"], None)
            elif "withdrawn" in row:
                self._withdraw(row["withdrawn"])
            else:
                self._add_claim(claim := _decode_claim(row))
                self.unconfirmed = _decode_first_text(row, claim)
        self._is_durable = not data  # the process that wrote the last lines may have left them to the next change


def encode_manifest(claims: Iterable[Claim], sources: Mapping[str, str]) -> bytes:
    """The text of the manifest of a draft with these claims. sources: as in Manifest."""
    rows: list[Mapping[str, object]] = [*map(_encode_claim, claims), {"sources": dict(sources)}]
    return "".join(f"{json.dumps(row)}\n" for row in rows).encode()


def _decode_rows(data: bytes) -> Iterator[dict[str, Any]]:
    return (json.loads(line) for line in data.splitlines())


def _encode_claim(claim: Claim) -> dict[str, object]:
    digest = claim.digest.hex() if claim.digest is not None else None
    return {"path": claim.path, "kind": claim.kind, "digest": digest, "stat": claim.stat and list(claim.stat)}


def _encode_first_text(first: FirstText) -> dict[str, object]:
    return {**_encode_claim(first.claim), "text": first.digest.hex(), "kept": first.kept_name}


def _decode_first_text(row: Mapping[str, Any], claim: Claim) -> FirstText | None:
    """None: the line is of another claim."""
    return FirstText(claim, Digest(bytes.fromhex(row["text"])), row["kept"]) if "text" in row else None


def _decode_claim(row: Mapping[str, Any]) -> Claim:
    digest = Digest(bytes.fromhex(row["digest"])) if row["digest"] else None
    return Claim(row["path"], ClaimKind(row["kind"]), digest, Stat(*row["stat"]) if row["stat"] else None)
