"""The attachments that only one page uses, and so go where it goes."""

from mirrord.commands.session import Session
from mirrord.mirror.layout import attachment_path, parent_of


def own_attachments(session: Session, path: str) -> list[str]:
    """Attachments in the folder of the page at *path* that it links to and no other page does."""
    snapshot = session.catalogue.look()
    above = attachment_path(parent_of(path), "").rstrip("/") + "/"
    meant = {target.path for target in session.linkage.outgoing(snapshot, path)}
    beside = [one for one in snapshot.attachments if one.startswith(above) and one in meant]
    return [one for one in beside if session.linkage.incoming(snapshot, one) == [path]]
