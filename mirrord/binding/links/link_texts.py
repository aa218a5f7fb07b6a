"""
Addresses of the app in a text as links to files, and back. Pure.

`with_addresses()` undoes `with_files()` byte for byte: an address of a file that the text links to by itself stays.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mirrord.binding.mappings.link_rules import LinkRules
from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.link_updates import retarget_links
from mirrord.markdown.page_links import Link, links_of, target_span

_KIND = "markdown"

Addresses = Mapping[str, str]  # by the target of a link


@dataclass(frozen=True, slots=True)
class LinkTargets:
    """
    The targets of the Markdown links of a text, in order.

    ids: those of addresses, by the place in *ordered*. literal: targets that stay, since they are no addresses, or are
    spelled in another way.
    """

    ordered: Sequence[str]
    ids: Mapping[int, str]
    literal: frozenset[str]


NO_TARGETS = LinkTargets((), {}, frozenset())


def targets_of(page: PageText, rules: LinkRules) -> LinkTargets:
    """The targets of the links of *page*."""
    links = [link for link in links_of(page, addresses=rules.addresses) if link.kind == _KIND]
    ids = {number: external_id for number, link in enumerate(links) if (external_id := _id_of(page, link, rules))}
    literal = frozenset(link.target for number, link in enumerate(links) if number not in ids)
    return LinkTargets([link.target for link in links], ids, literal)


def _id_of(page: PageText, link: Link, rules: LinkRules) -> str | None:
    """The id in the address of *link*; None: it is none, or would not come back as it is spelled."""
    external_id = rules.id_in(link.target)
    if external_id is None:
        return None
    start, end = target_span(page.text, link)
    written = page.text[start:end].removeprefix("<").partition("#")[0].removesuffix(">")
    return external_id if written == link.target else None


def with_files(page: PageText, rules: LinkRules, files: Mapping[str, str]) -> PageText:
    """*page* with links to *files*, targets by the id of their row, in place of addresses."""
    targets = targets_of(page, rules)
    new_targets = {}
    for external_id in set(targets.ids.values()) & files.keys():
        address, target = rules.address_of(external_id), files[external_id]
        if address is not None and not {address, target} & targets.literal:
            new_targets[_KIND, address] = target
    return retarget_links(page, new_targets, rules.addresses).page if new_targets else page


def with_addresses(page: PageText, rules: LinkRules, addresses: Addresses, literal: frozenset[str]) -> PageText:
    """
    *page* with addresses in place of links to files. literal: targets that stay, as in the body of the app.

    Raises:
        Damaged: an address would change what is around it.
    """
    new_targets = {(_KIND, target): address for target, address in addresses.items() if target not in literal}
    if not new_targets:
        return page
    result = retarget_links(page, new_targets, rules.addresses).page
    paths = (target for target in targets_of(result, rules).ordered if (_KIND, target) in new_targets)
    if (path := next(paths, None)) is not None:
        raise Damaged(f"its link to {path!r} cannot be an address of the app")
    return result


def pair_addresses(former: LinkTargets, body: LinkTargets, rules: LinkRules) -> Addresses:
    """The addresses of the links of *former*, a page that says what *body* does; its files may be gone."""
    if len(former.ordered) != len(body.ordered):
        return {}
    return {
        former.ordered[number]: address
        for number, external_id in body.ids.items()
        if number not in former.ids and (address := rules.address_of(external_id)) is not None
    }


def lost_ids(body: LinkTargets, former: LinkTargets) -> list[str]:
    """Ids of which *body* has more addresses than *former*, a page that says what it does."""
    return sorted((Counter(body.ids.values()) - Counter(former.ids.values())).keys())
