"""File names in the journal and the trash: `KIND.ENTRY.EXPECTED.NEW.RANDOM`, digests in hex, `-` for none."""

import re
import secrets
from dataclasses import dataclass
from functools import lru_cache
from uuid import UUID

from mirrord.domain.entry import Digest, EntryId
from mirrord.mirror.tree.tree_layout import PARKED_PREFIX

_DIGEST = "([0-9a-f]{64}|-)"
_NAME = re.compile(rf"([wdar])\.([0-9a-f-]{{36}})\.{_DIGEST}\.{_DIGEST}\.[0-9a-f]{{16}}")


@dataclass(frozen=True, slots=True)
class Label:
    """
    The facts in a name of the journal or the trash.

    expected: required digest of the file in place; None: it was to be created.
    new: digest of the new text; None: the file was to be removed.
    """

    entry: EntryId
    expected: Digest | None
    new: Digest | None


@lru_cache(maxsize=2_048)  # the same copies are listed again until the daemon has seen them
def label_of(name: str) -> Label | None:
    """The label in a name of the journal or the trash; None for other names."""
    if not (match := _NAME.fullmatch(name)):
        return None
    _, entry, expected, new = match.groups()
    return Label(EntryId(UUID(entry)), _parse_digest(expected), _parse_digest(new))


def with_expected_digest(name: str, expected: Digest) -> str:
    """The same name with another expected digest."""
    kind, entry, _, new, random = name.split(".")
    return ".".join((kind, entry, expected.hex(), new, random))


def new_name(kind: str, label: Label, key: str | None = None) -> str:
    """A new name of *kind* for *label*. key: its last part, 16 hex digits; None: a random one."""
    expected, new = (label.expected.hex() if label.expected else "-"), (label.new.hex() if label.new else "-")
    return f"{kind}.{label.entry}.{expected}.{new}.{key or new_key()}"


def new_key() -> str:
    """A random last part that makes a name unique."""
    return secrets.token_hex(8)


def key_of(name: str) -> str:
    """The last part of a name in the journal or the trash."""
    return name.rpartition(".")[2]


def _parse_digest(text: str) -> Digest | None:
    return None if text == "-" else Digest(bytes.fromhex(text))


def parked_name(entry: EntryId, *, directory: bool) -> str:
    """The name of an entry's file or directory while it is parked."""
    return f"{PARKED_PREFIX}{entry}.{'directory' if directory else 'file'}"
