"""The command that adds an attachment to a page."""

import mimetypes
from base64 import b64decode
from binascii import Error as Base64Error
from dataclasses import dataclass
from urllib.parse import quote

from mirrord.commands.core import command_events, inputs, page_paths
from mirrord.commands.core.command_plan import Plan, command
from mirrord.commands.core.failure import invalid_argument, translating_errors
from mirrord.commands.core.session import Session
from mirrord.commands.pages import page_writes
from mirrord.domain.approval import ABSENT_DIGEST, Preview
from mirrord.domain.entry import MAX_FILE_BYTES, Digest, digest_of, id_of_path
from mirrord.domain.event import EventType
from mirrord.domain.place import find_portability_fault, is_reserved, numbered_names
from mirrord.errors import Stale
from mirrord.mirror.tree import contained_files
from mirrord.mirror.tree.path_spelling import spelling_in_tree
from mirrord.mirror.tree.tree_layout import attachment_path, is_temporary, is_text, parent_of, printable
from mirrord.mirror.write import replace
from mirrord.mirror.write.journal import Journal

MAX_INLINE_BYTES = 2 << 20  # bytes of a file given as base64: a request over HTTP has at most 4 MiB
_SAFE_IN_LINKS = "!$&'*+,;=:@/-._~"  # characters left unquoted in a link's destination


@dataclass(frozen=True, slots=True)
class AttachedFile:
    """
    A file beside a page. relative_path: from the page, `./assets/image.png`. markdown_syntax: image or link to it.

    digest: of its bytes, in hex.
    """

    relative_path: str
    markdown_syntax: str
    digest: str
    path: str


@dataclass(frozen=True, slots=True)
class _Attachment(Plan[AttachedFile]):
    """A file beside a page. is_there: an equal file is at *path* already."""

    page: page_writes.Page
    name: str
    path: str
    data: bytes
    is_there: bool

    def preview(self, session: Session) -> Preview:
        digest, size = digest_of(self.data).hex(), len(self.data)
        sentence = f"The file {self.name} ({size} bytes) would be put beside {self.page.path}."
        facts = {"path": self.path, "size": size, "digest": digest}
        return Preview(sentence, facts, (), {self.path: digest if self.is_there else ABSENT_DIGEST})

    def carry_out(self, session: Session, journal: Journal) -> AttachedFile:
        path, digest = self.path, digest_of(self.data).hex()
        if not self.is_there:
            _write_attachment(session, journal, path, self.data)
            facts = {"page_id": str(page_writes.id_of_page(session, self.page)), "path": path, "size": len(self.data)}
            command_events.record_event(session, EventType.ATTACHMENT_ADDED, {**facts, "digest": digest})
        relative = f"./{path[len(parent_of(self.page.path)) :].lstrip('/')}"
        return AttachedFile(relative, _link_syntax(relative, self.name), digest, path)


@command("add_attachment", inputs=("file_path",))
def add_attachment(
    session: Session,
    page_path: str,
    file_path: str | None = None,
    file_name: str | None = None,
    base64: str | None = None,
) -> Plan[AttachedFile]:
    """
    Put a file of this machine, or the bytes in *base64*, into the `assets` folder of a page; its text stays as it is.

    file_path: below a directory of `attach_from`, absolute or relative to one. file_name: its new name; None: its
    present name. A taken name becomes `image-2.png`; equal bytes are not added twice.
    """
    name, data = _read_named(session, file_path, file_name, base64)
    page = page_writes.find_page(session, page_path)
    path, is_there = place_attachment(session, parent_of(page.path), name, digest_of(data))
    if not is_there:
        page_paths.check_not_ignored(session.tree, path)
    return _Attachment(page, name, path, data, is_there)


def _read_named(
    session: Session, file_path: str | None, file_name: str | None, base64: str | None
) -> tuple[str, bytes]:
    """The new name of the file, and its bytes."""
    if (file_path is None) == (base64 is None):
        sentence = "add_attachment takes either filePath or base64."
        raise invalid_argument("INVALID_ARGUMENTS", sentence, "Give filePath, or base64 and fileName.")
    if file_path is not None:
        name, data = _read_input(session, file_path)
    elif file_name is not None and base64 is not None:
        name, data = file_name, _decode_base64(base64)
    else:
        raise invalid_argument("INVALID_ARGUMENTS", "Bytes in base64 have no name of their own.", "Give a fileName.")
    name = name if file_name is None else file_name
    _check_name(name)
    return name, data


def _decode_base64(text: str) -> bytes:
    """The bytes in *text*, which may have line breaks. Raises Failed: INVALID_BASE64, TOO_LARGE."""
    try:
        data = b64decode("".join(text.split()), validate=True)
    except (Base64Error, ValueError):
        sentence, advice = "The value of base64 is not base64.", "Send the file's bytes, without data: before them."
        raise invalid_argument("INVALID_BASE64", sentence, advice) from None
    if len(data) > MAX_INLINE_BYTES:
        sentence = f"The file has {len(data)} bytes; base64 takes at most {MAX_INLINE_BYTES}."
        raise invalid_argument("TOO_LARGE", sentence, "Give filePath instead, or ask the person to put it there.")
    return data


def _write_attachment(session: Session, journal: Journal, path: str, data: bytes) -> None:
    entry = id_of_path(session.tenant_id, path)
    with translating_errors():
        session.tree.make_directories(parent_of(path))
        try:
            replace.write(session.tree, journal, path, data, replace.ExpectedFile(entry, None))
        except Stale as error:
            raise page_writes.page_exists(error) from error


def place_attachment(session: Session, directory: str, name: str, digest: Digest) -> tuple[str, bool]:
    """Path for a file *name* among the attachments of *directory*, and whether it exists there already."""
    for candidate in numbered_names(name, _with_dash):
        path = attachment_path(directory, candidate)
        with translating_errors():
            spelling = spelling_in_tree(session.tree, path)
            if spelling is None and session.tree.stat(path) is None:
                return path, False
            if spelling is not None and page_writes.current_digest(session, spelling) == digest:
                return spelling, True
    raise AssertionError("numbers do not end")


def _with_dash(name: str, number: int) -> str:
    stem, dot, ending = name.rpartition(".")
    return f"{stem}-{number}{dot}{ending}" if stem else f"{name}-{number}"


def _link_syntax(relative: str, name: str) -> str:
    target = quote(relative, safe=_SAFE_IN_LINKS)
    if (mimetypes.guess_type(name)[0] or "").startswith("image/"):
        return f"![]({target})"
    label = "".join(f"\\{sign}" if sign in "\\[]" else sign for sign in name)
    return f"[{label}]({target})"


def _check_name(name: str) -> None:
    reason = find_portability_fault(name) if is_text(name) else "is not UTF-8"
    if not name or "/" in name or is_reserved(name) or is_temporary(name):
        reason = "is kept for other things"
    if reason:
        raise invalid_argument(
            "INVALID_NAME", f"A file cannot be called {printable(name)!r}: it {reason}.", "Give a fileName."
        )


def _read_input(session: Session, file_path: str) -> tuple[str, bytes]:
    """Name and bytes of a file that may be attached."""
    with translating_errors(), inputs.open_input(session, file_path) as (name, descriptor):
        return name, contained_files.read(descriptor, name, MAX_FILE_BYTES)[0]
