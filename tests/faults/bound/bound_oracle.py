"""What must hold at rest where an app is bound: no token lost or doubled, and rows, pages and files equal."""

import re
import string
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from mirrord.domain.entry import digest_of
from tests.faults import oracle
from tests.faults.bound.bound_world import BoundLedger, BoundWorld
from tests.faults.bound.shapes import AppRow
from tests.faults.tokens import TOKEN, tokens_in

_DIGITS = string.digits + string.ascii_uppercase + string.ascii_lowercase  # of keys of order
_FRONT_MATTER = re.compile(r"\A---\n.*?^---\n", re.DOTALL | re.MULTILINE)
_PAGES = """
SELECT p.id::text, p.parent_id::text, p.title, p.name, coalesce(p.markdown, ''),
       EXISTS (SELECT FROM mirrord.conflict AS c WHERE c.tenant_id = p.tenant_id AND c.sibling_id = p.id)
  FROM mirrord.page AS p WHERE p.tenant_id = %(t)s AND p.deleted_at IS NULL AND p.kind = 'page'"""
_COURSE = """
SELECT r.version, r.actor ->> 'name', concat_ws(' ', r.markdown, r.views), p.deleted_at IS NOT NULL
  FROM mirrord.page_revision AS r JOIN mirrord.page AS p ON (p.tenant_id, p.id) = (r.tenant_id, r.page_id)
 WHERE r.tenant_id = %(t)s AND r.page_id = %(page)s ORDER BY r.version"""
_VERSIONS_OF_PAGES = (
    "SELECT page_id::text, concat_ws(' ', markdown, views) FROM mirrord.page_revision WHERE tenant_id = %(t)s"
)
_UNBOUND = """
SELECT p.id::text FROM mirrord.page AS p JOIN mirrord.binding AS b ON b.tenant_id = p.tenant_id
 WHERE p.tenant_id = %(t)s AND p.deleted_at IS NULL AND p.kind = 'page'
   AND (p.created_at <= b.created_at
        OR EXISTS (SELECT FROM mirrord.problem AS o WHERE o.tenant_id = p.tenant_id AND o.entry_id = p.id)
        OR EXISTS (SELECT FROM mirrord.conflict AS c WHERE c.tenant_id = p.tenant_id AND c.sibling_id = p.id)
        OR NOT (p.parent_id IS NULL OR EXISTS (SELECT FROM mirrord.binding_entry AS e
                                                WHERE e.tenant_id = p.tenant_id AND e.entry_id = p.parent_id)))"""
_STALE_BASES = """
SELECT e.external_id, e.version, coalesce(p.version, a.version) FROM mirrord.binding_entry AS e
  LEFT JOIN mirrord.page AS p ON (p.tenant_id, p.id) = (e.tenant_id, e.entry_id)
  LEFT JOIN mirrord.attachment AS a ON (a.tenant_id, a.id) = (e.tenant_id, e.entry_id)
 WHERE e.tenant_id = %(t)s AND coalesce(p.version, a.version) IS DISTINCT FROM e.version
   AND NOT EXISTS (SELECT FROM mirrord.problem AS o WHERE o.tenant_id = e.tenant_id AND o.entry_id = e.entry_id)"""
_TROUBLES = """
SELECT code || ' ' || path || ': ' || sentence FROM mirrord.problem
 WHERE tenant_id = %(t)s AND code NOT IN ('twin', 'bound-new', 'bound-edit', 'bound-row')
UNION ALL
SELECT 'halt: ' || sentence FROM mirrord.halt WHERE tenant_id = %(t)s AND closed_at IS NULL"""
_ENTRIES = "SELECT external_id, entry_id::text FROM mirrord.binding_entry WHERE tenant_id = %(t)s"
_FILES = """
SELECT e.external_id, a.parent_id::text, encode(a.digest, 'hex') FROM mirrord.binding_entry AS e
  JOIN mirrord.attachment AS a ON (a.tenant_id, a.id) = (e.tenant_id, e.entry_id)
 WHERE e.tenant_id = %(t)s AND a.deleted_at IS NULL"""
_TROUBLED = "SELECT entry_id::text FROM mirrord.problem WHERE tenant_id = %(t)s AND code = 'bound-row'"


@dataclass(frozen=True, slots=True)
class LivingPage:
    """A page that lives. is_sibling: it was put beside another one by a conflict."""

    parent: str | None
    title: str | None
    name: str | None
    text: str
    is_sibling: bool

    @property
    def body(self) -> str:
        """Its text without front matter."""
        return _FRONT_MATTER.sub("", self.text)


def bound_violations(world: BoundWorld, ledger: BoundLedger) -> list[str]:
    """Sentences about what should hold now, when all is still, and does not."""
    pages = {str(key): LivingPage(*values) for key, *values in oracle.load(world, _PAGES)}  # type: ignore[arg-type]
    rows, spaces = world.rows(), _pages_of_spaces(world)
    ledger.excused |= world.trashed_tokens()
    ledger.removed_rows |= set(spaces.values())  # what is written into the page of a space is taken back
    return [
        *oracle.find_common_violations(world, ledger),
        *(f"TROUBLE {sentence}" for (sentence,) in oracle.load(world, _TROUBLES)),
        *_find_lost(world, ledger, pages),
        *_find_doubled(ledger, pages, rows),
        *_find_undone(world, ledger, rows),
        *_find_unequal(world, pages, _with_pages_of_spaces(rows, spaces)),
        *_find_unequal_spaces(world, pages, spaces),
        *_find_unequal_files(world, pages),
    ]


def _pages_of_spaces(world: BoundWorld) -> dict[str, str]:
    """The pages of spaces, by their ids in the binding."""
    entries = {str(key): str(entry) for key, entry in oracle.load(world, _ENTRIES)}
    return {key: entries.get(key, "") for key in world.spaces()}


def _with_pages_of_spaces(rows: dict[str, AppRow], spaces: dict[str, str]) -> dict[str, AppRow]:
    """*rows* with the page of its space as the parent of each that is below no row."""
    return {key: replace(row, parent=spaces.get(row.parent or "", row.parent)) for key, row in rows.items()}


def _find_unequal_spaces(world: BoundWorld, pages: dict[str, LivingPage], spaces: dict[str, str]) -> Iterator[str]:
    for key, name in world.spaces().items():
        page = pages.get(spaces[key])
        if page is None or (page.title, page.parent) != (name, None):
            yield f"UNEQUAL the space {key} {name!r} is {page}"


def _find_unequal_files(world: BoundWorld, pages: dict[str, LivingPage]) -> Iterator[str]:
    """Files of the app whose attachments are not there, have other bytes, or are below another page; and others."""
    files = {key: (page, digest_of(content).hex()) for key, (page, content) in world.files().items() if page in pages}
    attachments = {str(key): (page, digest) for key, page, digest in oracle.load(world, _FILES)}
    for key in sorted(files.keys() | attachments.keys()):
        if files.get(key) != attachments.get(key):
            yield f"UNEQUAL the file {key} {files.get(key)} is the attachment {attachments.get(key)}"


def _find_lost(world: BoundWorld, ledger: BoundLedger, pages: dict[str, LivingPage]) -> Iterator[str]:
    """Tokens that no one removed, and that no living page has."""
    living = {token for page in pages.values() for token in tokens_in(f"{page.name} {page.text}")}
    missing = ledger.written.keys() - living - ledger.removed - ledger.excused
    pages_with: dict[str, set[str]] = {token: set() for token in missing}
    if missing:
        for page, text in oracle.load(world, _VERSIONS_OF_PAGES):
            for token in tokens_in(str(text)) & missing:
                pages_with[token].add(str(page))
    for token in sorted(missing):
        if pages_with[token].isdisjoint(ledger.removed_rows):
            yield f"NOT LIVING {token} ({ledger.written[token]}): only in versions of {pages_with[token] or 'no page'}"
            yield from (_describe_course(world, page) for page in sorted(pages_with[token]))


def _describe_course(world: BoundWorld, page: str) -> str:
    """Which version of a page had which tokens, and who wrote it."""
    versions = oracle.load(world, _COURSE, page=page)
    course = [f"{version} by {author}: {' '.join(TOKEN.findall(str(text)))}" for version, author, text, _ in versions]
    return f"    {page}{' (deleted)' if versions and versions[-1][3] else ''}: {'; '.join(course)}"


def _find_doubled(ledger: BoundLedger, pages: dict[str, LivingPage], rows: dict[str, AppRow]) -> Iterator[str]:
    in_pages = Counter(token for page in pages.values() if not page.is_sibling for token in TOKEN.findall(page.body))
    siblings = {token for page in pages.values() if page.is_sibling for token in tokens_in(page.body)}
    in_rows = Counter(token for row in rows.values() for token in row.tokens)
    for side, counts in (("pages", in_pages), ("rows of the app", in_rows)):
        for token, count in counts.items():
            if count > 1 and token not in ledger.copied and token not in siblings:
                yield f"TWICE {token} ({ledger.written.get(token)}): {count} times in {side}"


def _find_undone(world: BoundWorld, ledger: BoundLedger, rows: dict[str, AppRow]) -> Iterator[str]:
    """Tokens of transactions that were rolled back."""
    present = {token for row in rows.values() for token in row.tokens}
    if ledger.undone:
        present |= {token for _, text in oracle.load(world, _VERSIONS_OF_PAGES) for token in tokens_in(str(text))}
    for token in sorted(present & ledger.undone):
        yield f"GHOST {token}: its transaction was rolled back"


def _find_unequal(world: BoundWorld, pages: dict[str, LivingPage], rows: dict[str, AppRow]) -> Iterator[str]:
    """Rows and pages that say different things; of a page with a problem the row may."""
    troubled = {str(entry) for (entry,) in oracle.load(world, _TROUBLED)}
    for key in sorted(rows.keys() - pages.keys() - troubled):
        yield f"UNEQUAL the row {key} {rows[key]} has no page"
    unbound = {str(page) for (page,) in oracle.load(world, _UNBOUND)}
    spaces = set(_pages_of_spaces(world).values())
    for key in sorted(pages.keys() - rows.keys() - unbound - spaces):
        yield f"UNEQUAL the page {pages[key].name!r} {key} has no row and no problem"
    for key in sorted(rows.keys() & pages.keys() - troubled):
        difference = _difference(rows, key, pages[key], troubled, spaces)
        if difference is not None:
            yield f"UNEQUAL {difference} of {key}: {rows[key]} is {pages[key]}"
    for external_id, agreed, version in oracle.load(world, _STALE_BASES):
        yield f"UNEQUAL the base of {external_id} has version {agreed}, its page {version}"


def _difference(
    rows: dict[str, AppRow], key: str, page: LivingPage, troubled: set[str], spaces: set[str]
) -> str | None:
    row = rows[key]
    if row.parent not in troubled and page.parent != _living_parent(rows, key, spaces):
        return "the parent"
    if page.title != row.title:
        return "the title"
    if row.body is not None and page.body != row.body:
        return "the text"
    if tuple(TOKEN.findall(page.body)) != row.tokens:
        return "the words"
    place = re.search(r"^position: (.+)$", page.text, re.MULTILINE)
    if place is not None and row.place < len(_DIGITS) and place.group(1) not in (str(row.place), _key_of(row.place)):
        return "the place"
    return None


def _key_of(place: int) -> str:
    """The key of order that a whole number is in a page; of larger ones it has more digits."""
    return f"a{_DIGITS[place]}"


def _living_parent(rows: dict[str, AppRow], key: str, spaces: set[str]) -> str | None:
    """The parent that the page should have: none where it is not there, or the row is below itself."""
    parent, chain = rows[key].parent, {key}
    current = parent
    while current is not None and current in rows:
        if current in chain:
            return None
        chain.add(current)
        current = rows[current].parent
    return parent if parent in rows or parent in spaces else None
