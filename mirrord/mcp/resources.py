"""Pages as resources: a template for every page, its completion, and a short list of where to begin."""

from collections.abc import Sequence
from functools import partial

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp_types import (
    Completion,
    CompletionArgument,
    CompletionContext,
    PromptReference,
    Resource,
    ResourceTemplateReference,
)

from mirrord.commands.failure import Failed, failed_by
from mirrord.commands.session import Session
from mirrord.errors import MirrordError
from mirrord.mcp import uris
from mirrord.mcp.callers import Caller, Callers
from mirrord.mcp.lanes import Lane

MARKDOWN = "text/markdown"
SHOWN = 100  # resources in the list: clients load it whole, and some show it to the model
COMPLETED = 100  # the most the protocol allows
_UNKNOWN = ("not_found", "invalid", "forbidden")


def register(server: MCPServer[None], callers: Callers, tools: Sequence[str] = ()) -> None:
    """Let clients read every page by its URI, and complete paths. tools: names that are completed, too."""

    @server.resource(uris.TEMPLATE, name="page", title="A page", mime_type=MARKDOWN)
    async def page(path: str) -> str:
        """A page's whole text, by its path, such as page:///Projects/Alpha.md."""
        from mirrord.commands.pages import read_page  # noqa: PLC0415  (as for tools: loaded by who asks)

        try:
            caller = callers.current()
            shown = await caller.perform(partial(read_page, caller.session, path), Lane.READ)
        except MirrordError as error:
            raise _resource_error(failed_by(error)) from error
        if shown.folder is not None:  # a resource that is not there must not be empty
            raise ResourceNotFoundError(f"{shown.path} is a folder without a page file.")
        return shown.content

    @server.completion()  # type: ignore[no-untyped-call, untyped-decorator]  # the SDK leaves it so
    async def complete(
        reference: PromptReference | ResourceTemplateReference,
        argument: CompletionArgument,
        _: CompletionContext | None,
    ) -> Completion | None:
        if argument.name == "tool_name":
            named = [name for name in tools if argument.value.lower() in name]
            return Completion(values=named, total=len(named), has_more=False)
        if argument.name != "path":
            return None
        caller = callers.current()
        found = await caller.perform(partial(_completed, caller.session, argument.value), Lane.READ)
        return Completion(values=found[:COMPLETED], total=len(found), has_more=len(found) > COMPLETED)


async def listed(caller: Caller) -> list[Resource]:
    """The pages of the first two levels, in the order of the sidebar."""
    pages = await caller.perform(partial(_first_levels, caller.session), Lane.READ)
    return [
        Resource(uri=uris.uri_of(path), name=path, title=title, description=f"The page {title}", mime_type=MARKDOWN)
        for path, title in pages
    ]


async def listed_uris(callers: Callers) -> list[str]:
    """The URIs of listed(), which are the same for everybody."""
    caller = callers.anybody()
    return [str(one.uri) for one in await listed(caller)] if caller is not None else []


def _first_levels(session: Session) -> Sequence[tuple[str, str]]:
    from mirrord.commands.listing import list_pages  # noqa: PLC0415  (as for tools)

    pages = list_pages(session, None, 2).pages
    return [(page.path, page.title) for page in pages if page.path.endswith(".md")][:SHOWN]


def _completed(session: Session, typed: str) -> list[str]:
    """Paths that begin with what was typed, then those that hold it; without case."""
    wanted, paths = typed.lower(), sorted(session.catalogue.look().pages)
    begins = [path for path in paths if path.lower().startswith(wanted)]
    return begins + [path for path in paths if wanted in path.lower() and not path.lower().startswith(wanted)]


def _resource_error(failed: Failed) -> ResourceError:
    return ResourceNotFoundError(str(failed)) if failed.kind in _UNKNOWN else ResourceError(str(failed))
