"""What a name in the journal or the trash tells: `KIND.ENTRY.EXPECTED.NEW.RANDOM`, digests in hex, `-` for none."""

import re
import secrets
from dataclasses import dataclass
from uuid import UUID

from mirrord.domain.entry import Digest, EntryId
from mirrord.mirror.layout import PARKED

_DIGEST = "([0-9a-f]{64}|-)"
_NAME = re.compile(rf"([wdar])\.([0-9a-f-]{{36}})\.{_DIGEST}\.{_DIGEST}\.[0-9a-f]{{16}}")


@dataclass(frozen=True, slots=True)
class Label:
    """
    What a name in the journal or the trash tells.

    expected: digest the file in place had to have; None: it was to be created.
    new: digest of the text that was to take the place; None: the file was to be removed.
    """

    entry: EntryId
    expected: Digest | None
    new: Digest | None


def label_of(name: str) -> Label | None:
    """What a name in the journal or the trash tells; None if it is no such name."""
    if not (found := _NAME.fullmatch(name)):
        return None
    _, entry, expected, new = found.groups()
    return Label(EntryId(UUID(entry)), _digest_from(expected), _digest_from(new))


def relabelled(name: str, expected: Digest) -> str:
    """The same name with another expected digest."""
    kind, entry, _, new, random = name.split(".")
    return ".".join((kind, entry, expected.hex(), new, random))


def name_of(kind: str, label: Label, key: str | None = None) -> str:
    """A new name of *kind* that tells *label*. key: its last part, 16 hex digits; None: any."""
    expected, new = (label.expected.hex() if label.expected else "-"), (label.new.hex() if label.new else "-")
    return f"{kind}.{label.entry}.{expected}.{new}.{key or new_key()}"


def new_key() -> str:
    """The last part of a name, by which it is the only one."""
    return secrets.token_hex(8)


def key_of(name: str) -> str:
    """The last part of a name in the journal or the trash."""
    return name.rpartition(".")[2]


def _digest_from(text: str) -> Digest | None:
    return None if text == "-" else Digest(bytes.fromhex(text))


def parked_name(entry: EntryId, *, directory: bool) -> str:
    """What an entry's file or directory is called while it is parked."""
    return f"{PARKED}{entry}.{'directory' if directory else 'file'}"
