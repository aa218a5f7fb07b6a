"""The views of a page that an app wrote, as they are to be written into its text."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, cast

from mirrord.db.content.derived_rows import PageRow
from mirrord.domain.dialect import Dialect
from mirrord.domain.place import RecordFormat
from mirrord.errors import Damaged
from mirrord.markdown.content_loss import ContentLoss
from mirrord.markdown.frontmatter.record_text import Data, read_record
from mirrord.markdown.schema.block import ids_in
from mirrord.markdown.schema.document import Document, Node, is_node, make_document, parse_json, parse_json_or_none
from mirrord.markdown.schema.task_lists import with_task_lists
from mirrord.markdown.starterkit.block_images import BLOCK_IMAGES_SCHEMA, with_inline_images
from mirrord.markdown.starterkit.restored_document import from_starterkit
from mirrord.markdown.starterkit.shown_form import SCHEMA, string_attribute
from mirrord.markdown.write.plain_tables import with_plain_tables
from mirrord.markdown.write.soft_breaks import with_soft_breaks
from mirrord.markdown.write.stored_form import content_of


def read_frontmatter(page: PageRow) -> Data | None:
    """The front matter that an app wrote; None if it wrote none. Raises Damaged if it cannot be written."""
    if "frontmatter" not in page.ahead_columns or page.frontmatter in (None, "null"):
        return None
    try:
        return read_record(RecordFormat.JSON, page.frontmatter)
    except Damaged as damaged:
        raise Damaged(f"the front matter that an app wrote cannot be written: {damaged}") from damaged


@dataclass(frozen=True, slots=True)
class WrittenDocuments:
    """
    The documents of a page that an app wrote, parsed and checked once.

    content: what the app wrote; None: no document. has_nodes: whether it consists of nodes, as a document does.
    prior: the document before, which may be any JSON; None: there is none. before: its blocks.
    """

    content: Document | None
    has_nodes: bool
    prior: object
    before: Sequence[Node]

    @property
    def has_new_blocks(self) -> bool:
        """Whether the app's document has blocks that the one before had not, by their ids."""
        if self.content is None or not self.has_nodes:
            return False
        return not set(ids_in(self.content.get("content") or [])) <= set(ids_in(self.before))

    @property
    def stays_checked(self) -> bool:
        """Whether what read_content() makes of the app's document surely consists of nodes, too."""
        return self.content is not None and self.has_nodes and not string_attribute(self.content, "schema")


NO_DOCUMENTS: Final = WrittenDocuments(None, False, None, ())


def read_documents(page: PageRow) -> WrittenDocuments:
    """The documents of *page*. Raises Damaged if what the app wrote is no JSON that can be written."""
    if page.content is None:
        return NO_DOCUMENTS
    try:
        content = parse_json(page.content)
    except Damaged as damaged:
        raise Damaged(f"the content that an app wrote cannot be written: {damaged}") from damaged
    prior = parse_json_or_none(page.prior_content) if page.prior_content is not None else None
    return WrittenDocuments(cast("Document | None", content), is_node(content), prior, content_of(prior))


def read_content(
    page: PageRow, documents: WrittenDocuments, loss: ContentLoss = ContentLoss.DEGRADE
) -> Document | None:
    """
    The document that an app wrote, with the soft breaks that its editor made hard, and with tables of Markdown.

    Where it is in the schema of an editor that lacks nodes, with all that this editor lacks. None: it wrote none.
    documents: those of *page*. loss: what becomes of tables that Markdown lacks. Raises Damaged if it cannot be
    written.
    """
    content = documents.content
    if content is None or not documents.has_nodes:
        return content
    if schema := string_attribute(content, "schema"):
        content = _from_schema(content, schema, documents.prior, page.dialect)
    elif '"hardBreak"' in (page.content or ""):
        content = with_soft_breaks(content, make_document(documents.before))
    if '"[ ]"' in (page.content or "") or '"[x]"' in (page.content or ""):  # a box as raw text
        content = {**content, "content": with_task_lists(content.get("content") or [])}
    return with_plain_tables(content, documents.before, loss)


def _from_schema(written: Document, schema: str, prior: object, dialect: Dialect) -> Document:
    """The document *written* in the schema of an editor. prior: the document that it was shown, unless it says so."""
    if schema not in (SCHEMA, BLOCK_IMAGES_SCHEMA):
        raise Damaged(f"the content that an app wrote is in the schema `{schema}`, which mirrord does not know")
    base = make_document(content_of((written.get("attrs") or {}).get("base") or prior))
    if schema == BLOCK_IMAGES_SCHEMA:
        written = with_inline_images(written, base)
    return from_starterkit(written, base, dialect)
