"""The statements that a daemon sends, counted by its Postgres: `log_statement = all`, read from the server's log."""

import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
from psycopg.types.json import Jsonb

from mirrord.domain.entry import EntryId
from tests.support.harness import Mirrord, eventually
from tests.support.rows import Connection, page_of

DAEMON_NAME = "mirrord"  # application_name of its connections
REST_SECONDS = 0.8  # seconds without a statement but those of an idle daemon: it is at rest
_LINE = re.compile(r"^(?P<pid>\d+)\|(?P<name>[^|]*)\|LOG:  (?:statement|execute [^:]+): (?P<sql>.*)", re.DOTALL)
_SETTINGS = {"log_statement": "all", "log_line_prefix": "%p|%a|"}
# What a daemon sends by the clock, or for a new connection of its pool, whether or not something changed.
_BY_CLOCK = (
    re.compile(r"^SELECT tenant_id, seq FROM mirrord\.tenant_clock"),
    re.compile(r"^\s*SELECT b\.tenant_id, b\.id, b\.name, b\.compared_at"),
    re.compile(r"^UPDATE mirrord\.mirror AS m SET expires_at"),
    re.compile(r"^SELECT 1$"),
    re.compile(r"^\s*SELECT CASE WHEN is_cluster AND NOT is_pooled"),
)


@dataclass(slots=True)
class SentStatements:
    """Statements in the order in which they were sent. by_clock: those that an idle daemon sends, too."""

    statements: list[str] = field(default_factory=list)
    transactions: int = 0
    by_clock: list[str] = field(default_factory=list)

    def by_name(self) -> Counter[str]:
        """How often each statement was sent, by its verb and its tables."""
        return Counter(map(name_statement, self.statements))


class StatementLog:
    """What one daemon sends to its embedded Postgres."""

    def __init__(self, mirrord: Mirrord) -> None:
        self._log: Path = mirrord.postgres.log
        with psycopg.connect(mirrord.postgres.dsn(), autocommit=True) as connection:
            for name, value in _SETTINGS.items():
                connection.execute(f"ALTER SYSTEM SET {name} = '{value}'".encode())
            connection.execute("SELECT pg_reload_conf()")
        self._begin = self._log.stat().st_size

    def forget(self) -> None:
        """Begin to count now."""
        self._begin = self._log.stat().st_size

    def sent(self) -> SentStatements:
        """What was sent since the last call of `forget`."""
        return _count(self._entries())

    def sent_until_rest(self, seconds: float = 30.0) -> SentStatements:
        """What was sent until nothing but what comes by the clock was sent for REST_SECONDS."""
        last, changed_at = -1, time.monotonic()

        def is_at_rest() -> bool:
            nonlocal last, changed_at
            count, now = len(self.sent().statements), time.monotonic()
            if count != last:
                last, changed_at = count, now
            return now - changed_at > REST_SECONDS

        eventually(is_at_rest, "a daemon that sends nothing", seconds, pause=0.05)
        return self.sent()

    def _entries(self) -> Iterator[tuple[str, str]]:
        """(backend, statement) of the daemon. Continued lines begin with a tab."""
        with self._log.open("rb") as log:
            log.seek(self._begin)
            text = log.read().decode(errors="replace")
        for entry in text.replace("\n\t", " ").splitlines():
            match = _LINE.match(entry)
            if match and match["name"] == DAEMON_NAME:
                yield match["pid"], " ".join(match["sql"].split())


def name_statement(statement: str) -> str:
    """A short name: the verb, and the tables or functions of mirrord in it."""
    verb = statement.split("(")[0].split(maxsplit=1)[0]
    if verb in ("BEGIN", "COMMIT", "ROLLBACK"):
        return verb
    if verb in ("SET", "SHOW"):
        return re.split(r"[=']", statement)[0].strip()
    names = dict.fromkeys(re.findall(r"mirrord\.(\w+)", statement))
    return f"{verb} {', '.join(names)}" if names else statement[:60]


def _count(entries: Iterator[tuple[str, str]]) -> SentStatements:
    """A statement outside of BEGIN and COMMIT is a transaction by itself."""
    sent, opened = SentStatements(), set[str]()
    for backend, statement in entries:
        if backend not in opened and _is_by_clock(statement):
            sent.by_clock.append(statement)
            continue
        sent.statements.append(statement)
        if statement == "BEGIN":
            opened.add(backend)
            sent.transactions += 1
        elif statement in ("COMMIT", "ROLLBACK"):
            opened.discard(backend)
        elif backend not in opened:
            sent.transactions += 1
    return sent


def _is_by_clock(statement: str) -> bool:
    return any(pattern.match(statement) for pattern in _BY_CLOCK)


def list_names(sent: SentStatements) -> Sequence[str]:
    """One line for each name, for people."""
    return [f"{count:4} {name}" for name, count in sent.by_name().most_common()]


def add_text(app: Connection, entry: EntryId, line: str) -> None:
    """An app's edit of a page's text."""
    app.execute("UPDATE mirrord.page SET markdown = markdown || %s WHERE id = %s", [f"\n{line}\n", entry])


def add_paragraph(app: Connection, entry: EntryId, line: str) -> None:
    """An app's edit of a page's document."""
    page = page_of(app, entry)
    assert page is not None, f"{entry} has no row"
    assert page.content is not None, f"{page.name} has no document"
    paragraph = {"type": "paragraph", "content": [{"type": "text", "text": line}]}
    content = {**page.content, "content": [*page.content["content"], paragraph]}
    app.execute("UPDATE mirrord.page SET content = %s WHERE id = %s", [Jsonb(content), entry])
