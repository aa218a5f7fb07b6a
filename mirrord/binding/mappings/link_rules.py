"""What a mapping says about links: the address, or the node, by which bodies of the app link to its pages."""

import re
from collections.abc import Mapping as ByKey
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from mirrord.errors import UserError

KEYS = ("url", "node", "id", "title", "match")
_ID = "{id}"
_PLAIN = r"[A-Za-z0-9._~!$*+,:@/-]"  # characters that Markdown and HTML have in addresses as they are
_URL = re.compile(rf"(?:https?:/)?/{_PLAIN}*\{{id\}}{_PLAIN}*")
_PLAIN_ID = "[A-Za-z0-9._~-]+"  # other ids are spelled in several ways


@dataclass(frozen=True, slots=True)
class LinkNode:
    """
    A node of the app that links to a page.

    name: in the document schema. id, title: its attributes with the id of the page, and with the words that it shows.
    conditions: attributes without which it is another kind of node.
    """

    name: str
    id: str
    title: str
    conditions: ByKey[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LinkRules:
    """url: the address of a page in the bodies of the app, with `{id}` for its id. node: None: there is none."""

    url: str
    node: LinkNode | None = None

    @property
    def beginning(self) -> str:
        """What every address begins with."""
        return self.url.partition(_ID)[0]

    def may_be_in(self, body: str) -> bool:
        """Whether *body*, as the app has it, may link to pages."""
        return self.beginning in body or (self.node is not None and self.node.id in body)

    @property
    def addresses(self) -> re.Pattern[str]:
        """What every address matches, with its part of the page behind."""
        return _pattern_of(self.url)

    def id_in(self, address: str) -> str | None:
        """The id of the page at *address*; None: it is no address of a page."""
        match = self.addresses.fullmatch(address)
        return match["id"] if match is not None else None

    def address_of(self, external_id: str) -> str | None:
        """The address of a page; None: no address names its id."""
        address = self.url.replace(_ID, external_id)
        return address if self.id_in(address) == external_id else None


@lru_cache(maxsize=256)
def _pattern_of(url: str) -> re.Pattern[str]:
    before, _, after = url.partition(_ID)
    return re.compile(rf"{re.escape(before)}(?P<id>{_PLAIN_ID}){re.escape(after)}(?=#|\Z)")


def read_link_rules(values: ByKey[str, Any], *, are_documents: bool = True) -> LinkRules | None:
    """
    The rules in the section `links` of a file; None: it has none. are_documents: bodies have nodes.

    Raises UserError.
    """
    if not values:
        return None
    url = values.get("url")
    if not isinstance(url, str) or not _URL.fullmatch(url) or url.count(_ID) != 1:
        raise UserError(
            '`links.url` must be the address by which bodies link to pages, such as "/pages/{id}" or '
            '"https://wiki.example/pages/{id}", without `?` and `#`.'
        )
    return LinkRules(url, _read_node(values, are_documents=are_documents))


def _read_node(values: ByKey[str, Any], *, are_documents: bool) -> LinkNode | None:
    if "node" not in values:
        if extra := sorted(values.keys() - {"url"}):
            raise UserError(f"`links.{extra[0]}` is about a node: name it in `links.node`.")
        return None
    if not are_documents:
        raise UserError("`links.node` is a node of a document, and bodies of Markdown or HTML have none.")
    texts = [values.get(key) for key in ("node", "id", "title")]
    conditions = values.get("match", {})
    if not all(isinstance(text, str) and text for text in texts):
        raise UserError(
            '`links.node` needs `links.id` and `links.title`, its attributes: id = "pageId", title = "label".'
        )
    if not isinstance(conditions, dict) or not all(isinstance(value, str) for value in conditions.values()):
        raise UserError('`links.match` must be a table of attributes, such as { entityType = "page" }.')
    name, key, title = map(str, texts)
    return LinkNode(name, key, title, conditions)
