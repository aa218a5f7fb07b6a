"""Changes of front matter that need not be read back: short plain values on lines of their own."""

from collections.abc import Mapping

from mirrord.markdown.frontmatter.page_text import HeadForm, PageText, split_lines
from mirrord.markdown.frontmatter.yaml_edits import is_plain_text
from mirrord.markdown.frontmatter.yaml_reader import MAX_EXACT_INTEGER, Json, Property, Removed

_MAX_SOURCE_CHARACTERS = 2_000  # of the front matter; so short, with the change, it reaches no limit of YAML
_MAX_CHANGE_CHARACTERS = 500
_OTHER_DOCUMENTS = ("\n---", "\n...", "\r---", "\r...")  # a line that begins so may end the mapping early
_OTHER_LINE_ENDS = ("\x85", "\u2028", "\u2029")  # which YAML knows beside LF and CR


def is_surely_read_back(page: PageText, changes: Mapping[str, Json | Removed]) -> bool:
    """
    Whether `rewrite_properties` makes these *changes* to *page*, and no others, for every reader of YAML.

    page: with front matter that can be read. False: that has to be read back.
    """
    if page.form is not HeadForm.YAML or "id" in changes or not _is_plain_mapping(page):
        return False
    entries = page.views.entries
    size = sum(len(key) + len(str(value)) for key, value in changes.items())
    return size <= _MAX_CHANGE_CHARACTERS and all(
        is_plain_text(key)
        and _is_plain_value(value)
        and all(_is_plain_line(page.source, entry) for entry in entries if entry.key == key)
        for key, value in changes.items()
    )


def _is_plain_mapping(page: PageText) -> bool:
    """Whether the front matter begins with a key, at the margin, and is one short document."""
    source, entries = page.source, page.views.entries
    if not entries or entries[0].key_start != 0 or len(source) > _MAX_SOURCE_CHARACTERS:
        return False
    return not any(part in source for part in (*_OTHER_DOCUMENTS, *_OTHER_LINE_ENDS))


def _is_plain_value(value: Json | Removed) -> bool:
    if isinstance(value, int):  # true and false, too
        return abs(value) <= MAX_EXACT_INTEGER
    return isinstance(value, str) and is_plain_text(value)


def _is_plain_line(source: str, entry: Property) -> bool:
    """Whether a plain value follows `KEY: ` on the line that the key begins."""
    key_at_margin = entry.key_start == 0 or source[entry.key_start - 1] in "\r\n"
    return (
        key_at_margin
        and bool(entry.text)
        and not entry.style
        and source[entry.key_start : entry.start] == f"{entry.key}: "
        and len(split_lines(source[entry.start : entry.end])) == 1
    )
