"""An operator pauses and rescans a tree on this machine, and settles which files stay out of it."""

from collections.abc import Callable
from typing import TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from mirrord.domain.entry import Digest
from mirrord.errors import MirrordError, Stale, Unavailable
from mirrord.mirror import tree_marker
from mirrord.mirror.heartbeat import request_flush
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree_settings import (
    IgnoreText,
    is_paused,
    pause_sync,
    read_ignore_text,
    resume_sync,
    write_ignore_text,
)
from mirrord.web.read_limits import run_in_thread
from mirrord.web.request_context import (
    Visit,
    json_response,
    not_found,
    read_json,
    refusal,
    require_operator,
    visit_of,
)

_T = TypeVar("_T")
_SCAN_PATIENCE = 20.0  # seconds until a person is told that the scan goes on


async def show_tree(request: Request) -> Response:
    """GET api/local-tree: whether the tree's sync pauses, and its patterns. 404: the tree is not on this machine."""
    visit = require_operator(await visit_of(request))
    paused, ignored = await _with_tree(visit, lambda tree: (is_paused(tree), read_ignore_text(tree)))
    return json_response({"paused": paused, **_ignore_facts(ignored)})


def _ignore_facts(ignored: IgnoreText) -> dict[str, str | None]:
    return {"ignore": ignored.text, "digest": ignored.digest.hex() if ignored.digest is not None else None}


async def change_pause(request: Request) -> Response:
    """POST api/local-tree/pause: `paused`."""
    visit = require_operator(await visit_of(request))
    body = await read_json(request, paused=bool)
    await _with_tree(visit, pause_sync if body["paused"] else resume_sync)
    return json_response({"paused": body["paused"]})


async def put_ignore(request: Request) -> Response:
    """PUT api/local-tree/ignore: the patterns as `ignore`, over those with `digest`; 409: they are others by now."""
    visit = require_operator(await visit_of(request))
    body = await read_json(request, ignore=str, digest=(str, type(None)))
    expected = _digest_of(body["digest"])
    digest = await _with_tree(visit, lambda tree: write_ignore_text(tree, body["ignore"], expected))
    return json_response({"digest": digest.hex()})


async def rescan(request: Request) -> Response:
    """POST api/local-tree/rescan: let the daemon look at all files. `is_done`: whether that is over already."""
    visit = require_operator(await visit_of(request))
    if visit.app.rescan.locked() or not visit.app.rescan_rate.allows(str(visit.tenant)):
        raise HTTPException(429, "Files are being looked at already. Try again in a moment.")
    async with visit.app.rescan:  # a scan needs threads, too: only one of them waits for it
        is_done = await _with_tree(visit, lambda _: _request_scan(visit))
    return json_response({"is_done": is_done})


def _request_scan(visit: Visit) -> bool:
    assert visit.app.trees is not None  # there is a tree below it
    try:
        request_flush(visit.app.trees, _SCAN_PATIENCE)
    except TimeoutError:
        return False
    return True


def _digest_of(text: str | None) -> Digest | None:
    try:
        return None if text is None else Digest(bytes.fromhex(text))
    except ValueError as error:
        raise refusal("The digest is not one.") from error


async def _with_tree(visit: Visit, work: Callable[[Tree], _T]) -> _T:
    try:
        return await run_in_thread(_run_with_tree, visit, work)
    except Stale as error:
        raise HTTPException(409, str(error)) from error
    except (MirrordError, OSError) as error:
        raise refusal(str(error)) from error


def _run_with_tree(visit: Visit, work: Callable[[Tree], _T]) -> _T:
    """Raises 404 unless the tree of the visit's tenant is on this machine."""
    directory = visit.app.trees
    if directory is None:
        raise not_found()
    try:
        tree = Tree(directory / visit.name)
    except Unavailable as error:
        raise not_found() from error
    try:
        marker = tree_marker.read(tree)
        if marker is None or marker.tenant_id != visit.tenant:
            raise not_found()
        return work(tree)
    finally:
        tree.close()
