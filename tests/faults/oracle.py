"""What must hold when all is still: nothing lost, both trees equal to the rows, nothing done twice or for ever."""

import re
import signal
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from mirrord.db.database import Database
from mirrord.domain.place import name_of_record
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.write.journal import COPY_PREFIX
from mirrord.mirror.write.journal_labels import label_of
from mirrord.operations.tenant_check import Finding, Verdict, check_tree
from tests.faults.tokens import Ledger, tokens_in, tokens_of_files, tokens_of_rows
from tests.faults.world import Quick, World, digest_of_tree

VERSIONS_PER_EDIT = 4

# A parser's worker whose daemon was killed before it had told the worker what to do.
_KILLED_BEFORE_WORKER = re.compile(
    r"Traceback \(most recent call last\):\n  File \"<string>\", line 1, in <module>\n(?:  .*\n)+"
    r"EOFError: Ran out of input\n"
)
_UNEQUAL_BASES = """
SELECT coalesce(b.path, p.name, p.id::text), b.version, p.version, b.digest = p.digest
  FROM (SELECT id, name, version, digest FROM mirrord.page WHERE tenant_id = %(t)s AND deleted_at IS NULL
        UNION ALL
        SELECT id, name, version, digest FROM mirrord.attachment WHERE tenant_id = %(t)s AND deleted_at IS NULL
        UNION ALL
        SELECT id, key, version, digest FROM mirrord.record WHERE tenant_id = %(t)s AND deleted_at IS NULL) AS p
  FULL JOIN (SELECT * FROM mirrord.mirror_base
              WHERE tenant_id = %(t)s
                AND mirror_id = (SELECT id FROM mirrord.mirror WHERE tenant_id = %(t)s AND root = %(root)s)) AS b
    ON b.entry_id = p.id
 WHERE b.version IS DISTINCT FROM p.version OR b.digest IS DISTINCT FROM p.digest
"""
_ORPHANS = """
SELECT 'row without a living parent: ' || child.name FROM mirrord.page AS child
  JOIN mirrord.page AS parent ON parent.tenant_id = child.tenant_id AND parent.id = child.parent_id
 WHERE child.tenant_id = %(t)s AND child.deleted_at IS NULL AND parent.deleted_at IS NOT NULL
UNION ALL
SELECT 'name held twice: ' || name_key FROM mirrord.page WHERE tenant_id = %(t)s AND deleted_at IS NULL
 GROUP BY parent_key, name_key HAVING count(*) > 1
UNION ALL
SELECT 'row without a place: ' || coalesce(name, title, id::text) FROM mirrord.page
 WHERE tenant_id = %(t)s AND deleted_at IS NULL AND name_key IS NULL
UNION ALL
SELECT 'row not rendered: ' || name FROM mirrord.page
 WHERE tenant_id = %(t)s AND deleted_at IS NULL AND kind = 'page' AND (ahead <> '{}' OR digest IS NULL)
UNION ALL
SELECT 'in a circle: ' || name FROM mirrord.page WHERE tenant_id = %(t)s AND deleted_at IS NULL AND id NOT IN (
    WITH RECURSIVE reached (id) AS (
        SELECT id FROM mirrord.page WHERE tenant_id = %(t)s AND parent_id IS NULL AND deleted_at IS NULL
        UNION ALL
        SELECT page.id FROM reached JOIN mirrord.page ON page.parent_id = reached.id AND page.tenant_id = %(t)s
         WHERE page.deleted_at IS NULL)
    SELECT id FROM reached)
"""
_LIVING_TEXTS = """
SELECT name, markdown FROM mirrord.page WHERE tenant_id = %(t)s AND deleted_at IS NULL AND markdown IS NOT NULL
   AND id NOT IN (SELECT sibling_id FROM mirrord.conflict WHERE tenant_id = %(t)s AND sibling_id IS NOT NULL)
"""
_ENTRIES = """
SELECT id, version, name, parent_id, deleted_at FROM mirrord.page WHERE tenant_id = %(t)s
UNION ALL
SELECT id, version, name, parent_id, deleted_at FROM mirrord.attachment WHERE tenant_id = %(t)s
UNION ALL
SELECT id, version, kind || '/' || key, NULL, deleted_at FROM mirrord.record WHERE tenant_id = %(t)s
"""
_VERSIONS = """
SELECT (SELECT coalesce(sum(version), 0) FROM mirrord.page WHERE tenant_id = %(t)s)
     + (SELECT coalesce(sum(version), 0) FROM mirrord.attachment WHERE tenant_id = %(t)s)
     + (SELECT coalesce(sum(version), 0) FROM mirrord.record WHERE tenant_id = %(t)s)
"""
_ROW = "SELECT id FROM mirrord.page WHERE tenant_id = %(t)s AND id = %(entry)s AND kind <> 'folder'"
_TROUBLES = """
SELECT code || ' ' || path || ': ' || sentence FROM mirrord.problem WHERE tenant_id = %(t)s AND code <> 'twin'
UNION ALL
SELECT 'halt: ' || sentence FROM mirrord.halt WHERE tenant_id = %(t)s AND closed_at IS NULL
"""


def violations(world: World, ledger: Ledger, versions_per_edit: int = VERSIONS_PER_EDIT) -> list[str]:
    """Sentences about what should hold now, when all is still, and does not."""
    return [
        *_lost(world, ledger),
        *_divergence(world),
        *_twice(world, ledger),
        *_untidy(world),
        *_busy(world, ledger, versions_per_edit),
        *_log(world),
    ]


def find_common_violations(world: World, ledger: Ledger) -> list[str]:
    """What holds of every tenant at rest: nothing is lost, both trees equal the rows, and no daemon failed."""
    sentences = [f"ROWS {sentence}" for (sentence,) in load(world, _ORPHANS)]
    return [*_lost(world, ledger), *_divergence(world), *sentences, *_untidy_files(world), *_log(world)]


def restlessness(world: World) -> list[str]:
    """Restart both daemons: what they write then, though nobody changed anything."""
    before = _picture(world)
    for mirror in world.mirrors:
        mirror.end(signal.SIGTERM)
    world.quiesce()
    after = _picture(world)
    return [
        f"a restart changed {name}: {before.get(name)} became {after.get(name)}" for name in _changed(before, after)
    ]


def _changed(before: dict[str, object], after: dict[str, object]) -> list[str]:
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))


def _picture(world: World) -> dict[str, object]:
    """Every version, and the inode of every file: a file written anew has another one."""
    entries: dict[str, object] = {str(entry): version for entry, *version in load(world, _ENTRIES)}
    for mirror in world.mirrors:
        for path, file in visible(mirror).items():
            entries[f"{mirror.directory.name}:{path}"] = (file.stat().st_ino, file.stat().st_mtime_ns)
    return entries


def visible(mirror: Quick) -> dict[str, Path]:
    """The files of a tree that people see, and records, by path; what else starts with a dot is left out."""
    paths = {str(path.relative_to(mirror.root)): path for path in mirror.root.rglob("*") if path.is_file()}
    return {
        name: path
        for name, path in paths.items()
        if name_of_record(name) or not any(part.startswith(".") for part in name.split("/"))
    }


def _lost(world: World, ledger: Ledger) -> Iterator[str]:
    tokens = tokens_of_rows(world) | tokens_of_files(world)
    for token, description in ledger.written.items():
        if token not in tokens and token not in ledger.excused:
            yield f"LOST {token} ({description}): in no page, revision, conflict or trash"


def _divergence(world: World) -> Iterator[str]:
    trees = []
    for mirror in world.mirrors:
        for path, verdict in _checked(world, mirror):
            yield f"UNEQUAL {mirror.directory.name}: `check` says {verdict} of {path}"
        for row in load(world, _UNEQUAL_BASES, root=str(mirror.root)):
            yield f"UNEQUAL {mirror.directory.name}: base and row of {row}"
        trees.append({path: file.read_bytes() for path, file in visible(mirror).items()} | _folders(mirror))
    for path in sorted(set().union(*trees)):
        if len({tree.get(path) for tree in trees}) > 1:
            yield f"UNEQUAL the trees in {path}"


def _folders(mirror: Quick) -> dict[str, bytes]:
    """Directories that are entries: not those of attachments, nor the empty directory of a page that is a file."""
    directories = (path for path in mirror.root.rglob("*") if path.is_dir() and path.name != "assets")
    names = {str(path.relative_to(mirror.root)): path for path in directories}
    return {
        f"{name}/": b""
        for name, path in names.items()
        if not name.startswith(".") and (_holds_something(path) or not path.with_name(f"{path.name}.md").exists())
    }


def _holds_something(directory: Path) -> bool:
    """More than an `assets` of which somebody took the last attachment: nobody removes that for them."""
    return any(path.name != "assets" or any(path.iterdir()) for path in directory.iterdir())


def _checked(world: World, mirror: Quick) -> list[tuple[str, Verdict]]:
    async def findings(database: Database) -> list[Finding]:
        tree = Tree(mirror.root)
        try:
            return await check_tree(database, world.tenant, tree)
        finally:
            tree.close()

    return [
        (finding.path, finding.verdict) for finding in world.cluster.work(findings) if finding.verdict is not Verdict.OK
    ]


def _twice(world: World, ledger: Ledger) -> Iterator[str]:
    pages = defaultdict(list)
    for name, markdown in load(world, _LIVING_TEXTS):
        for token in tokens_in(str(markdown)):
            pages[token].append(name)
    for token, names in pages.items():
        if len(names) > 1 and token not in ledger.copied:
            yield f"TWICE {token} ({ledger.written.get(token)}): in the living pages {names}"


def _untidy(world: World) -> Iterator[str]:
    for (sentence,) in load(world, _ORPHANS):
        yield f"ROWS {sentence}"
    for (sentence,) in load(world, _TROUBLES):
        yield f"TROUBLE {sentence}"
    yield from _untidy_files(world)


def _untidy_files(world: World) -> Iterator[str]:
    if digest_of_tree(world.sentinel) != world.outside:
        yield "OUTSIDE a directory beside the root was touched"
    for mirror in world.mirrors:
        for leftover in leftovers(world, mirror):
            yield f"LEFTOVER {mirror.directory.name}: {leftover.name} waits in the journal"


def leftovers(world: World, mirror: Quick) -> list[Path]:
    """What waits in the journal of a daemon, but for copies that wait for their rows."""
    journal = mirror.root / ".mirrord" / "tmp" / "daemon"
    return [path for path in journal.glob("*") if not _waits_for_its_row(world, path.name)]


def _waits_for_its_row(world: World, name: str) -> bool:
    """Whether it is the copy of a command's text whose page has no row, or a folder's; it is kept for an hour."""
    label = label_of(name) if name.startswith(COPY_PREFIX) else None
    return label is not None and not load(world, _ROW, entry=label.entry)


def _busy(world: World, ledger: Ledger, versions_per_edit: int) -> Iterator[str]:
    versions = int(str(load(world, _VERSIONS)[0][0]))
    if versions > versions_per_edit * max(1, ledger.edits):
        yield f"BUSY {ledger.edits} edits made {versions} versions"


def _log(world: World) -> Iterator[str]:
    for mirror in world.mirrors:
        log = _KILLED_BEFORE_WORKER.sub("", mirror.whole_log())
        for sign in ("pass_failed", "Traceback (most recent call last)"):
            if sign in log:
                line = next(line for line in log.splitlines() if sign in line)
                yield f"FAILED {mirror.directory.name}: {sign} in {mirror.log}: {line[-600:]}"
                break


def load(world: World, query: str, **values: object) -> list[tuple[object, ...]]:
    """The rows of a query about the tenant `t`."""
    with world.cluster.administered() as connection:
        return connection.execute(query.encode(), {"t": world.tenant, **values}).fetchall()
