"""What the front matter of a page says: its values, and the texts of the keys that rows have columns for."""

from dataclasses import dataclass

from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.yaml_reader import Json, Property, read_properties, values_of


@dataclass(frozen=True, slots=True)
class Views:
    """
    The properties of a page in its front matter. None: the key is absent or empty.

    id: the text of the key as written, UUID or not; "" for a key without a value.
    title, icon, position: the text as written, so `title: 1.10` is "1.10"; None for lists and mappings.
    texts: the texts of all keys.
    frontmatter: the values of all keys.
    error: a sentence that says why the front matter cannot be read; all other views are empty then.
    """

    id: str | None
    title: str | None
    icon: str | None
    position: str | None
    texts: dict[str, str | None]
    frontmatter: dict[str, Json]
    error: str | None


def read_views(source: str) -> Views:
    """The views in the YAML of front matter; never raises."""
    try:
        entries = read_properties(source)
    except Damaged as damaged:
        return Views(None, None, None, None, {}, {}, str(damaged))
    values = values_of(entries)
    by_key = {entry.key: entry for entry in entries}
    texts = {key: by_key[key].text or None for key in by_key if values[key] is not None}
    return Views(
        _id_text(source, by_key.get("id")),
        texts.get("title"),
        texts.get("icon"),
        texts.get("position"),
        texts,
        values,
        None,
    )


def _id_text(source: str, entry: Property | None) -> str | None:
    if entry is None or entry.text is not None:
        return entry.text if entry else None
    return source[entry.start : entry.end].rstrip()
