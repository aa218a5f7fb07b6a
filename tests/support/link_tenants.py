"""A mirror with its followers, in this process: documents, meanings of links, and the targets that links get."""

from uuid import UUID

from mirrord.documents.derivation_schedule import follow_batch
from mirrord.documents.document_derivation import Deriver, PageRate
from mirrord.documents.link_rewriting import rewrite_pages
from tests.support.entries import value
from tests.support.mirrors import Mirror

MAX_ROUNDS = 30  # until nothing changes


async def derive(mirror: Mirror) -> None:
    """Carry everything over, derive all documents, and let the meanings of links follow; no text is rewritten."""
    deriver = Deriver(mirror.engine.sides, mirror.workers, PageRate())
    await mirror.settle()
    while await deriver.derive_some() or await follow_batch(mirror.engine.sides):
        pass
    await deriver.finish()


async def let_links_follow(mirror: Mirror) -> None:
    """Do everything that a daemon does after a move, until no row changes any more."""
    for _ in range(MAX_ROUNDS):
        await derive(mirror)
        before = mirror.versions()
        await rewrite_pages(mirror.engine.sides)
        await derive(mirror)
        if mirror.versions() == before:
            return
    raise AssertionError("links never come to rest")


def pending_count(mirror: Mirror) -> int:
    """How many links are to get another target."""
    count: int = value(mirror.app, "SELECT count(*) FROM mirrord.page_link WHERE pending IS NOT NULL")
    return count


def targets_of(mirror: Mirror, page: UUID) -> list[UUID | None]:
    """What the links of a page mean, in order."""
    query = "SELECT target_id FROM mirrord.page_link WHERE source_id = %s ORDER BY number"
    return [target for (target,) in mirror.app.execute(query, [page]).fetchall()]
