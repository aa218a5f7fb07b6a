"""All that is derived from a page's text at once. Imports the codec only, so that a worker process stays small."""

from mirrord.codec.links import Link, links_of
from mirrord.codec.stored import stored


def derived(text: str) -> tuple[bytes, list[Link]]:
    """The document of *text* as Postgres stores it, and its links."""
    return stored(text), links_of(text)
