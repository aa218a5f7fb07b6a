"""Who calls: from credentials to permissions, and the session that remembers what was shown."""

import secrets
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import anyio.to_thread
from mcp.server.auth.middleware.auth_context import get_access_token

from mirrord.auth.access_grant import LOCAL_ACTOR, Grant
from mirrord.commands.core.connection_changes import (
    ConnectionChanges,
    current_client,
    current_connection,
    using_changes,
)
from mirrord.commands.core.failure import Failed
from mirrord.commands.core.seen_pages import Memory, ShownDigests, using_memory
from mirrord.commands.core.session import Gate, Session, SessionSettings
from mirrord.config import Config
from mirrord.domain.answer_form import AnswerForm
from mirrord.domain.entry import Actor, digest_of
from mirrord.domain.review import title_without_words
from mirrord.domain.scope import UNLIMITED, Scope
from mirrord.domain.trust import Trust
from mirrord.domain.write_rules import WriteRules
from mirrord.errors import MirrordError, Refused, UserError
from mirrord.mcp.admission import Tenant, find_tenant, open_tree, read_token, tenant_of
from mirrord.mcp.message_source import current_source
from mirrord.mcp.tools.scoped_tools import works_scoped
from mirrord.mcp.tools.tool import Lane, Lanes, Tool
from mirrord.mirror.tree.scoped_tree import scope_of, scope_tree
from mirrord.research.collections.group_scope import shows_group

T = TypeVar("T")

MAX_SESSIONS_PER_TOKEN = 1_000  # with a memory; older sessions have to read their pages again
IDLE_SECONDS = 3600.0  # seconds after which a token without sessions begins another change set

_NEW_TOKEN = "Ask an operator for a token, which `mirrord tenant token NAME` makes, and connect again with it."


class Caller:
    """
    One client: on stdio the connection, over HTTP all holders of one token.

    is_scoped: it sees a part of the tree only. still_holds: raises Refused if the token has expired or been revoked.
    by_session: each HTTP session has its own memory of shown texts. If the protocol has no sessions, a write of a whole
    page needs the digest of a text shown to this token.
    """

    def __init__(
        self,
        session: Session,
        gate: Gate,
        *,
        may_write: bool,
        still_holds: Callable[[], None],
        by_session: bool = False,
    ) -> None:
        self.session = session
        self.gate = gate
        self.may_write = may_write
        self.is_scoped = session.tree.whole is not session.tree
        self._still_holds = still_holds
        self._by_session = by_session
        self._memories: OrderedDict[str, Memory] = OrderedDict()
        self._token_digests = ShownDigests()
        self._lanes = Lanes()
        self._changes = ConnectionChanges(IDLE_SECONDS if by_session else None)
        self._changes_by_session: OrderedDict[str, ConnectionChanges] = OrderedDict()
        self._owner = _owner_of(session)
        self._changes.owner = self._owner
        self._cleaning: threading.Thread | None = None  # removes the files of an applied draft

    def can_use(self, tool: Tool[Any]) -> bool:
        """Whether its rights are enough for *tool*."""
        level = self.gate.levels[tool.name]
        if (tool.writes and not self.may_write) or not tool.is_open(level):
            return False
        return not self.is_scoped or works_scoped(tool.name)

    def work_session(self) -> Session:
        """The session to work with, in a thread of perform(): of the open change set, if there is one."""
        connection = current_connection()
        if connection is None or connection.draft is None:
            return self.session
        from mirrord.commands.changes.draft_session import current_draft  # noqa: PLC0415  (few connections have one)

        return current_draft(connection, self.session).session

    def on_pages(self, work: Callable[..., T], *arguments: object) -> Callable[[], T]:
        """*work* on the session that work_session() returns, and *arguments*."""
        return lambda: work(self.work_session(), *arguments)

    def prepare_apply(self, arguments: Mapping[str, Any]) -> tuple[Mapping[str, Any], Gate]:
        """As work_session(): arguments with the open change set, and a gate as high as what was done in it."""
        connection = current_connection()
        change_set = arguments.get("change_set") or (connection.draft_id if connection is not None else None)
        if connection is None or change_set is None:
            raise Failed("NO_CHANGES", "invalid", "No change set is open.", "Call begin_changes with a title first.")
        from mirrord.commands.changes.draft_session import check_unused, find_draft  # noqa: PLC0415  (as above)
        from mirrord.commands.changes.review_state import needs_review, review_of  # noqa: PLC0415  (as above)

        facts = find_draft(self.session, change_set)
        check_unused(self.session, connection, facts)
        if (review := review_of(self.session, facts)) is not None and review.is_open:
            arguments = review.request.arguments  # so that the call finds that request
        if needs_review(self.session, self.gate, facts):
            return {**arguments, "change_set": facts.id}, _reviewing(self.gate)
        level = max(self.gate.levels["apply_changes"], facts.level)
        gate = replace(self.gate, levels={**self.gate.levels, "apply_changes": Trust(level)})
        return {**arguments, "change_set": facts.id}, gate

    def begin_review(self) -> Session:
        """Begin a change set for a change that a person reviews; the session in it."""
        from mirrord.commands.changes.change_commands import begin_changes  # noqa: PLC0415  (as above)

        connection = current_connection()
        assert connection is not None
        title = title_without_words(current_client(), self.session.actor.name, datetime.now(UTC))
        begin_changes(self.session, connection, title)
        return self.work_session()

    def submit_changes(self, change_set: str) -> None:
        """Note that a person reviews *change_set*: the connection works on the tree again."""
        from mirrord.commands.changes.draft_session import leave_draft  # noqa: PLC0415  (as above)
        from mirrord.commands.changes.review_state import submit_draft  # noqa: PLC0415  (as above)

        if (connection := current_connection()) is not None and connection.draft_id == change_set:
            leave_draft(connection)
        submit_draft(self.session, change_set)

    def end_changes(self, change_set: str) -> None:
        """Clean up after *change_set*, which was applied: a connection that has it open works on the tree again."""
        from mirrord.commands.changes.draft_session import leave_draft, remove_ended  # noqa: PLC0415  (as above)

        if (connection := current_connection()) is not None and connection.draft_id == change_set:
            leave_draft(connection)
        self._finish_cleaning()
        self._cleaning = threading.Thread(target=remove_ended, args=(self.session, change_set))
        self._cleaning.start()

    def _finish_cleaning(self) -> None:
        if self._cleaning is not None:
            self._cleaning.join()
            self._cleaning = None

    def check(self) -> None:
        """Raise Failed if the token is no longer valid."""
        try:
            self._still_holds()
        except MirrordError as error:
            raise Failed("TOKEN_REFUSED", "no_session", str(error), _NEW_TOKEN) from error

    async def perform(self, work: Callable[[], T], lane: Lane | None) -> T:
        """Do blocking *work* off the event loop. lane: limits concurrent work; None: no limit."""
        source = current_source()
        if (memory := self._memory(source.session_id)) is not None:
            work = partial(_with_memory, memory, work)
        work = partial(_with_changes, self._connection_changes(source.session_id), source.client_name, work)
        if lane is None:
            return await anyio.to_thread.run_sync(work)
        return await self._lanes.perform(work, lane)

    def _memory(self, name: str | None) -> Memory | None:
        """The memory of the HTTP session with this *name*; None: use that of the command session (stdio)."""
        if not self._by_session:
            return None
        if name is None:
            return Memory(self._token_digests)
        memory = self._memories.setdefault(name, Memory())
        self._memories.move_to_end(name)
        if len(self._memories) > MAX_SESSIONS_PER_TOKEN:
            self._memories.popitem(last=False)
        return memory

    def _connection_changes(self, name: str | None) -> ConnectionChanges:
        """The changes of the HTTP session with this *name*; without one those of the connection or the token."""
        if not self._by_session or name is None:
            return self._changes
        changes = self._changes_by_session.setdefault(name, ConnectionChanges())
        changes.owner = self._owner
        self._changes_by_session.move_to_end(name)
        if len(self._changes_by_session) > MAX_SESSIONS_PER_TOKEN:
            _leave_draft(self._changes_by_session.popitem(last=False)[1])
        return changes

    def close(self) -> None:
        """Close the session's files after the work on them has ended."""
        self._lanes.close()
        self._finish_cleaning()
        for changes in (self._changes, *self._changes_by_session.values()):
            _leave_draft(changes)
        self.session.close()


def _reviewing(gate: Gate) -> Gate:
    """The gate of a change set that a person reviews: not in the client, where only the beginning would be shown."""
    return replace(gate, levels={**gate.levels, "apply_changes": Trust.REQUIRE}, elicits=False, rules=WriteRules())


def _leave_draft(changes: ConnectionChanges) -> None:
    """Leave an open change set as it is, for begin_changes to continue."""
    if changes.draft is not None:
        changes.draft.close()
        changes.draft = None


def _owner_of(session: Session) -> str:
    """A mark of whom change sets belong to: of the token, which itself is written nowhere."""
    if session.token is not None:
        return digest_of(session.token.encode()).hex()[:32]
    scope = scope_of(session.tree)
    return "local" if scope.is_unlimited else f"local {digest_of(str(scope).encode()).hex()[:16]}"


def _with_changes(changes: ConnectionChanges, client: str | None, work: Callable[[], T]) -> T:
    with using_changes(changes, client):
        return work()


def _with_memory(memory: Memory, work: Callable[[], T]) -> T:
    with using_memory(memory):
        return work()


class Callers:
    """All callers of this process."""

    def __init__(self, local: Caller | None = None, answers: AnswerForm = AnswerForm.BOTH) -> None:
        """
        *local*: caller of requests without a token, as on stdio; None: such requests are refused.

        *answers*: the form of answers to clients that ask for no other.
        """
        self._local = local
        self.answers = answers
        self._by_token: dict[str, Caller] = {}

    def admit(self, token: str, make: Callable[[], Caller]) -> None:
        """Admit the token of this id; *make* creates its caller the first time."""
        if token not in self._by_token:
            self._by_token[token] = make()

    def current(self) -> Caller:
        """The caller of the current request. Raises Failed if it is not admitted."""
        access = get_access_token()
        caller = self._local if access is None else self._by_token.get(access.client_id)
        if caller is None:
            raise Failed("TOKEN_REFUSED", "no_session", "This server needs a token.", _NEW_TOKEN)
        caller.check()
        return caller

    def may_notify(self) -> bool:
        """Whether clients may be notified: on stdio while the token is valid; over HTTP its streams end with it."""
        try:
            if self._local is not None:
                self._local.check()
        except Failed:
            return False
        return True

    def close(self) -> None:
        """Close the files of every session."""
        for caller in [*self._by_token.values(), *([self._local] if self._local else [])]:
            caller.close()


def local_caller(config: Config, paths: Scope = UNLIMITED) -> tuple[Tenant, Caller]:
    """
    Tenant and caller of a process on stdio: by its token, or by local trust. paths: what a local caller sees.

    Raises Refused without either.
    """
    token = read_token(config)
    if token is not None:
        if not paths.is_unlimited:
            raise UserError("A token has patterns of its own: --write, --read and --deny are for servers without one.")
        return _token_caller(config, token)
    if not config.trusts_locally():
        raise Refused(
            "No token was given. Put what `mirrord tenant token NAME` prints into MIRRORD_TOKEN, or the path of a file "
            "with it into MIRRORD_TOKEN_FILE; an operator may instead set mcp.local_trust = true in the configuration."
        )
    tenant = find_tenant(config)
    return tenant, Caller(
        _create_session(config, tenant, LOCAL_ACTOR, paths=paths),
        _gate_of(config),
        may_write=bool(paths.write) or not paths.read,
        still_holds=_stay_valid,
    )


def _token_caller(config: Config, token: str) -> tuple[Tenant, Caller]:
    from mirrord.auth import signed_tokens  # noqa: PLC0415  (a tenth of a second that local trust saves)

    grant = signed_tokens.verify_token(signed_tokens.Keyring(config.mirror), token)
    tenant = tenant_of(config, grant)
    return tenant, create_caller(config, tenant, grant, token)


def create_caller(config: Config, tenant: Tenant, grant: Grant, token: str, *, by_session: bool = False) -> Caller:
    """The caller for a token of *tenant*. grant: the rights of the token. by_session: as in Caller."""
    from mirrord.auth import signed_tokens  # noqa: PLC0415  (as above)

    keyring = signed_tokens.Keyring(config.mirror)
    return Caller(
        _create_session(config, tenant, grant.actor, token, paths=grant.paths),
        _gate_of(config, is_reviewed=grant.is_reviewed),
        may_write=grant.may_write,
        still_holds=lambda: signed_tokens.check_grant(keyring, grant),
        by_session=by_session,
    )


def attachable_dirs(config: Config) -> tuple[Path, ...]:
    """
    Directories below which files may be attached.

    Default: the working directory of the server and the temporary directory, except `/` and the person's home: clients
    start servers there too, and they would include everything.
    """
    if config.agents.attach_from is not None:
        return config.agents.attach_from
    working, home = Path.cwd(), Path("~").expanduser()
    defaults = (working, Path(tempfile.gettempdir()))
    return tuple(directory.resolve() for directory in defaults if directory not in (Path("/"), home))


def _create_session(
    config: Config, tenant: Tenant, actor: Actor, token: str | None = None, *, paths: Scope = UNLIMITED
) -> Session:
    writer = f"mcp-{secrets.token_hex(8)}"
    return Session(
        scope_tree(open_tree(config, tenant), paths, shows_group),
        tenant.name,
        tenant.id,
        actor,
        writer,
        SessionSettings(
            attach_from=attachable_dirs(config),
            excluded_paths=(config.data,),  # Postgres and the private key
            sources_dir=config.sources_dir,
            token=token,
        ),
    )


def _gate_of(config: Config, *, is_reviewed: bool = False) -> Gate:
    agents = config.agents
    return Gate(agents.trust, agents.limits, agents.elicitation, agents.rules_of(is_reviewed=is_reviewed))


def _stay_valid() -> None:
    """Do nothing: local trust lasts as long as the process."""
