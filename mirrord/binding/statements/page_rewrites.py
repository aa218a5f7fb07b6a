"""The statement that writes a text with its views into a page that stays in its place: only its file is left."""

from mirrord.db.bindings.binding_rows import BindingRow
from mirrord.db.content.entry_writes import Statement, StatementBuilder
from mirrord.domain.entry import EntryId, MirrorId, digest_of
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.sync.writing.entry_bodies import text_of as text_values_of


def rewrite_statement(binding: BindingRow, entry: EntryId, page: PageText, expected: int) -> Statement:
    """Write *page* as the text of *entry*, which has the version *expected*."""
    builder = StatementBuilder(binding.tenant, MirrorId(binding.id))
    return builder.rewrite(entry, expected, digest_of(page.text.encode()), text_values_of(page))
