"""What an entry's bytes mean to its row: text with views, an attachment's description, a record's fields."""

import mimetypes
import posixpath

from mirrord.db.content.entry_writes import AttachmentContent, Body, PageValues
from mirrord.db.content.record_rows import record_text
from mirrord.domain.entry import MAX_FILE_BYTES, EntryId, File, Kind, digest_of, parse_id
from mirrord.domain.place import MAX_NAME_BYTES
from mirrord.errors import Damaged, Stale
from mirrord.markdown.frontmatter.page_properties import Views, with_keys
from mirrord.markdown.frontmatter.page_text import PageText, decode
from mirrord.mirror.tree.tenant_tree import Tree

MAX_LOOP_BYTES = 20_000  # bytes of a text that is parsed on the event loop


def data_of(tree: Tree, file: File) -> bytes:
    """The bytes of *file*, read again if they are not in memory. Raises Stale if they have changed."""
    if file.data is not None:
        return file.data
    data, _ = tree.read(file.path, MAX_FILE_BYTES)
    if digest_of(data) != file.digest:
        raise Stale(f"{file.path!r} was saved meanwhile.")
    return data


def body_of(file: File, data: bytes, views: Views | None = None) -> Body:
    """The row values of *file*. views: of its front matter, if known. Raises Damaged if the bytes are not text."""
    if file.kind is Kind.FOLDER:
        return PageValues(None, title=file.place.name)
    if file.kind is Kind.ATTACHMENT:
        return AttachmentContent(len(data), media_type_of(file.path))
    if file.kind is Kind.RECORD:
        return record_text(file.place.name, decode(data))
    return text_of(PageText(decode(data)), views)


def media_type_of(name: str) -> str | None:
    """The media type by the ending of a file's name."""
    return mimetypes.guess_type(name)[0]


def text_of(page: PageText, views: Views | None = None) -> PageValues:
    """A page's text with its views, which are read unless they are known."""
    views = views or page.views
    return PageValues(
        page.text, views.title, views.icon, views.position, views.frontmatter if not views.error else None
    )


def conflict_name(kind: Kind, name: str, moment: str, mirror: str) -> str:
    """The name of the conflict sibling that keeps the file's bytes. moment: UTC, for people."""
    suffix = f" (conflict {moment} {mirror})"
    stem, ending = posixpath.splitext(name) if kind is Kind.ATTACHMENT else (name, "")
    cut = stem.encode()[: MAX_NAME_BYTES - len(suffix.encode())].decode("utf-8", "ignore").rstrip()
    return cut + suffix + ending


def with_id(page: PageText, entry: EntryId) -> PageText:
    """*page* with its `id:`. The user's own `id:` key stays, and so does unreadable front matter."""
    if page.views.id is not None and parse_id(page.views.id) is None:
        return page
    try:
        return with_keys(page, {"id": str(entry)})
    except Damaged:
        return page
