"""The attachments that only one page uses, and so go where it goes."""

from collections.abc import Iterable

from mirrord.codec.links import links_of
from mirrord.commands.linkage import Linkage, folded
from mirrord.commands.session import Session
from mirrord.commands.writing import Page
from mirrord.mirror.layout import attachment_path, parent_of


def own_attachments(session: Session, page: Page) -> list[str]:
    """Attachments in the folder of *page* that it links to and no other page does."""
    snapshot = session.catalogue.look()
    above = attachment_path(parent_of(page.path), "").rstrip("/") + "/"
    beside = [path for path in snapshot.attachments if path.startswith(above)]
    if not beside:
        return []
    linkage = Linkage(snapshot, session.tenant_id, lambda path: path, {})
    mine = _meant(linkage, page.path, page.text, beside)
    for path in snapshot.pages:
        if not mine:
            break
        text = snapshot.text(path) if path != page.path else None
        if text is not None:
            mine -= _meant(linkage, path, text, mine)
    return sorted(mine)


def _meant(linkage: Linkage, path: str, text: str, attachments: Iterable[str]) -> set[str]:
    """Those of *attachments* that a link of the page at *path* means."""
    known = folded(text)
    named = [one for one in attachments if folded(one.rpartition("/")[2]) in known]
    if not named:
        return set()
    site = linkage.site(path)
    meant = [site.meaning(link.kind, link.target) for link in links_of(text)]
    return {one for one in named if any(linkage.is_it(entry, one) for entry in meant)}
