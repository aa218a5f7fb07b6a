"""A file of an app as an attachment of a page: its name, and what tells that it changed. Pure."""

import json
from collections.abc import Mapping as ByKey
from dataclasses import dataclass, field
from typing import Any

import orjson

from mirrord.domain.entry import Digest, digest_of
from mirrord.domain.place import clean_name, name_key, numbered_attachment

MAX_NUMBER = 999  # of a name that another attachment has, too


@dataclass(frozen=True, slots=True)
class AppFile:
    """
    A living file of the app.

    page: the id of its page's row. name: as the app has it. version: of its row. size: in bytes; None: not known, since
    they are on disk or the row has none. parts: the columns of its path on disk.
    """

    external_id: str
    page: str
    name: str
    version: str
    size: int | None
    parts: ByKey[str, str | None] = field(default_factory=dict)

    @property
    def attachment_name(self) -> str:
        """The name of the attachment: the last part of the app's, as a name that a file can have."""
        return clean_name(self.name.replace("\\", "/").rpartition("/")[2], self.external_id.rpartition(":")[2][:8])

    def digest_with(self, digest: Digest) -> Digest:
        """The digest of all that the app says about the file. digest: of its bytes."""
        return digest_of(orjson.dumps([self.page, self.name, digest.hex()]))


def file_of(record: tuple[Any, ...]) -> AppFile:
    """The file of a record of `FileStatements.rows`."""
    external_id, page, name, version, size, parts = record
    return AppFile(external_id, page, name or "", version, size, json.loads(parts))


def is_attachment_name(name: str | None, file: AppFile) -> bool:
    """Whether an attachment of this *name* shows that of *file*: the later of two equal names has a number."""
    if name is None:
        return False
    key, attachment = name_key(name), file.attachment_name
    if key == name_key(attachment):
        return True
    number = name.rpartition("/")[2].rpartition(" (")[2].partition(")")[0]
    if not (number.isascii() and number.isdecimal() and len(number) <= len(str(MAX_NUMBER))):
        return False
    return key == name_key(numbered_attachment(attachment, int(number)))
