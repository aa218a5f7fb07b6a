"""What must hold on a stage when its engine has nothing more to do."""

from collections.abc import Iterator
from contextlib import suppress

from mirrord.db.database import Database
from mirrord.domain.event import decode_event
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.operations.tenant_check import Verdict, check_tree
from tests.faults.scenarios import Scenario
from tests.faults.stage import Stage
from tests.faults.tokens import TEXTS, tokens_in

_BASES = """
SELECT coalesce(b.path, p.id::text) FROM
    (SELECT id, version, digest FROM mirrord.page WHERE tenant_id = %(t)s AND deleted_at IS NULL
     UNION ALL SELECT id, version, digest FROM mirrord.attachment WHERE tenant_id = %(t)s AND deleted_at IS NULL
     UNION ALL SELECT id, version, digest FROM mirrord.record WHERE tenant_id = %(t)s AND deleted_at IS NULL) AS p
  FULL JOIN (SELECT * FROM mirrord.mirror_base
              WHERE tenant_id = %(t)s
                AND mirror_id = (SELECT id FROM mirrord.mirror WHERE tenant_id = %(t)s AND root = %(root)s)) AS b
    ON b.entry_id = p.id
 WHERE b.version IS DISTINCT FROM p.version OR b.digest IS DISTINCT FROM p.digest
"""


def wrong(stage: Stage, scenario: Scenario, *, at_rest: bool = True) -> list[str]:
    """Sentences about what should hold and does not. at_rest: run the engine once more, which must do nothing."""
    violations = [*_lost(stage, scenario), *_unequal(stage), *_left(stage), *_untold(stage)]
    if at_rest and not violations:
        before = _marks(stage)
        stage.converge()
        after = _marks(stage)
        violations += [
            f"RESTLESS {name}" for name in before.keys() | after.keys() if before.get(name) != after.get(name)
        ]
    return violations


def _lost(stage: Stage, scenario: Scenario) -> Iterator[str]:
    tokens: set[str] = set()
    with stage.cluster.administered() as connection:
        for (text,) in connection.execute(TEXTS, {"t": stage.tenant}):
            tokens |= tokens_in(text)
    for path in stage.root.rglob("*"):
        if path.is_file() and "/.mirrord/tmp/" not in str(path) and not path.name.startswith("state.db"):
            tokens |= tokens_in(path.read_bytes())
    for token in sorted(scenario.tokens - tokens):
        yield f"LOST {token}"


def _unequal(stage: Stage) -> Iterator[str]:
    async def checked(database: Database) -> list[tuple[str, Verdict]]:
        tree = Tree(stage.root)
        try:
            return [(finding.path, finding.verdict) for finding in await check_tree(database, stage.tenant, tree)]
        finally:
            tree.close()

    for path, verdict in stage.cluster.work(checked):
        if verdict is not Verdict.OK:
            yield f"UNEQUAL {verdict} {path}"
    with stage.cluster.administered() as connection:
        for (path,) in connection.execute(_BASES, {"t": stage.tenant, "root": str(stage.root)}):
            yield f"UNEQUAL base of {path}"


def _left(stage: Stage) -> Iterator[str]:
    for leftover in (stage.root / ".mirrord" / "tmp" / "daemon").glob("*"):
        yield f"LEFTOVER {leftover.name}"


def _untold(stage: Stage) -> Iterator[str]:
    """Every whole line of an event file that is an event is a row."""
    with stage.cluster.administered() as connection:
        rows = connection.execute("SELECT id FROM mirrord.event WHERE tenant_id = %s", [stage.tenant]).fetchall()
    entries = {entry for (entry,) in rows}
    for file in stage.root.glob(".records/events/*.jsonl"):
        for line in file.read_bytes().split(b"\n")[:-1]:
            with suppress(ValueError):
                if decode_event(line).event_id not in entries:
                    yield f"UNTOLD {line.decode()}"


def _marks(stage: Stage) -> dict[str, object]:
    marks: dict[str, object] = {"versions": stage.versions()}
    for path in stage.tree():
        stat = (stage.root / path).stat()
        marks[path] = (stat.st_ino, stat.st_mtime_ns)
    return marks
