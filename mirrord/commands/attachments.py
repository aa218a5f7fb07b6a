"""The agent adds files to pages."""

import mimetypes
from dataclasses import dataclass
from itertools import count
from urllib.parse import quote

from mirrord.commands import events, inputs, paths, writing
from mirrord.commands.failure import explained, invalid
from mirrord.commands.session import Session
from mirrord.domain.approval import ABSENT, Preview
from mirrord.domain.entry import Digest, digest_of, id_of_path
from mirrord.domain.event import Type
from mirrord.domain.place import is_reserved, unportable
from mirrord.errors import Stale
from mirrord.mirror import contents, replace
from mirrord.mirror.card import LIMIT
from mirrord.mirror.journal import Journal
from mirrord.mirror.layout import attachment_path, is_temporary, is_text, parent_of, printable
from mirrord.mirror.spelling import spelt

_SAFE = "!$&'*+,;=:@/-._~"  # stays readable in a link's destination


@dataclass(frozen=True, slots=True)
class Attached:
    """
    A file beside a page. relative_path: from the page, `./assets/image.png`; markdown_syntax: what shows or links it.

    digest: of its bytes, in hex.
    """

    relative_path: str
    markdown_syntax: str
    digest: str
    path: str


def add_attachment(session: Session, page_path: str, file_path: str, file_name: str | None = None) -> Attached:
    """
    Copy a file of this machine into the `assets` folder of a page; the page's text stays as it is.

    file_path: below a directory of `attach_from`, absolute or relative to one. file_name: what it is called there;
    None: as it is called. Never over another file: then `image-2.png`; the same bytes are not added twice.
    """
    name, data = _named(session, file_path, file_name)
    with session.writing() as journal:
        page = writing.find(session, page_path)
        path, is_there = place(session, parent_of(page.path), name, digest_of(data))
        if not is_there:
            paths.check_kept(session.tree, path)
            _put(session, journal, path, data)
            facts = {"page_id": str(writing.page_id(session, page)), "path": path, "size": len(data)}
            events.record(session, Type.ATTACHMENT_ADDED, {**facts, "digest": digest_of(data).hex()})
    relative = f"./{path[len(parent_of(page.path)) :].lstrip('/')}"
    return Attached(relative, _syntax(relative, name), digest_of(data).hex(), path)


def preview_add_attachment(session: Session, page_path: str, file_path: str, file_name: str | None = None) -> Preview:
    """What add_attachment would do."""
    name, data = _named(session, file_path, file_name)
    page = writing.find(session, page_path)
    path, is_there = place(session, parent_of(page.path), name, digest_of(data))
    facts = {"path": path, "size": len(data), "digest": digest_of(data).hex()}
    bases = {path: digest_of(data).hex() if is_there else ABSENT}
    return Preview(f"The file {name} ({len(data)} bytes) would be put beside {page.path}.", facts, (), bases)


def _named(session: Session, file_path: str, file_name: str | None) -> tuple[str, bytes]:
    """What the file is to be called, and its bytes."""
    name, data = _read(session, file_path)
    if file_name is not None:
        name = file_name
    _check_name(name)
    return name, data


def _put(session: Session, journal: Journal, path: str, data: bytes) -> None:
    entry = id_of_path(session.tenant_id, path)
    with explained():
        session.tree.make_directories(parent_of(path))
        try:
            replace.write(session.tree, journal, path, data, entry=entry, over=None)
        except Stale as error:
            raise writing.is_taken(error) from error


def place(session: Session, directory: str, name: str, digest: Digest) -> tuple[str, bool]:
    """Where a file called *name* goes among the attachments of *directory*, and whether it is there already."""
    for number in count(1):
        path = attachment_path(directory, _numbered(name, number))
        with explained():
            found = spelt(session.tree, path)
            if found is None and session.tree.stat(path) is None:
                return path, False
            if found is not None and writing.digest_now(session, found) == digest:
                return found, True
    raise AssertionError("numbers do not end")


def _numbered(name: str, number: int) -> str:
    stem, dot, ending = name.rpartition(".")
    if number == 1:
        return name
    return f"{stem}-{number}{dot}{ending}" if stem else f"{name}-{number}"


def _syntax(relative: str, name: str) -> str:
    target = quote(relative, safe=_SAFE)
    if (mimetypes.guess_type(name)[0] or "").startswith("image/"):
        return f"![]({target})"
    shown = "".join(f"\\{sign}" if sign in "\\[]" else sign for sign in name)
    return f"[{shown}]({target})"


def _check_name(name: str) -> None:
    why = unportable(name) if is_text(name) else "is not UTF-8"
    if not name or "/" in name or is_reserved(name) or is_temporary(name):
        why = "is kept for other things"
    if why:
        raise invalid("INVALID_NAME", f"A file cannot be called {printable(name)!r}: it {why}.", "Give a fileName.")


def _read(session: Session, file_path: str) -> tuple[str, bytes]:
    """The name and bytes of a file that may be attached."""
    with explained(), inputs.opened(session, file_path) as (name, descriptor):
        return name, contents.read(descriptor, name, LIMIT)[0]
