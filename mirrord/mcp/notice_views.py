"""What callers see of a tree, and a bus of notices that passes on to each no more than that."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial

from mcp.server.subscriptions import InMemorySubscriptionBus, ResourcesListChanged, ResourceUpdated, ServerEvent

from mirrord.commands.core.session import Session
from mirrord.domain.entry import Digest, digest_of
from mirrord.mcp import served_resources
from mirrord.mcp.callers import Caller
from mirrord.mcp.tools.tool import Lane
from mirrord.mirror.tree.scoped_tree import ScopedTree


@dataclass(frozen=True, slots=True)
class View:
    """
    A tree as callers with equal patterns see it.

    patterns: "" for the whole tree. caller: one of these callers, in whose name it is looked at.
    """

    patterns: str
    caller: Caller = field(compare=False, repr=False)

    def shows(self, path: str) -> bool:
        """Whether these callers may hear of *path*."""
        return self.caller.session.tree.shows(path)

    def shows_uri(self, uri: str) -> bool:
        """The same for the URI of a page."""
        return any(map(self.shows, served_resources.paths_from_uri(uri)))

    async def digest_names(self) -> Digest:
        """A digest that changes if a page that they see is created, removed, moved or renamed."""
        return await self.caller.perform(partial(_digest_names, self.caller.session), Lane.READ)


def view_of(caller: Caller) -> View:
    """The view of *caller*."""
    tree = caller.session.tree
    return View(str(tree.scope) if isinstance(tree, ScopedTree) else "", caller)


class ViewBus(InMemorySubscriptionBus):
    """Delivers to each stream of the newest protocol what the caller that opened it sees."""

    def __init__(self, current_view: Callable[[], View]) -> None:
        super().__init__()
        self._current_view = current_view
        self._changed_views: Collection[View] = ()

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        """As in the SDK, within the request of the caller."""
        view = self._current_view()

        def deliver(event: ServerEvent) -> None:
            if self._may_hear(view, event):
                listener(event)

        return super().subscribe(deliver)

    async def publish_new_names(self, views: Collection[View]) -> None:
        """Tell the streams of *views* that the list of pages changed."""
        self._changed_views = views
        await self.publish(ResourcesListChanged())

    def _may_hear(self, view: View, event: ServerEvent) -> bool:
        if isinstance(event, ResourceUpdated):
            return view.shows_uri(event.uri)
        return view in self._changed_views


def _digest_names(session: Session) -> Digest:
    return digest_of("\0".join(sorted(session.catalogue.snapshot().pages)).encode())
