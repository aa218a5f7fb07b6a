"""Mutants: the engine with one guard taken out, each of which a test must notice; and canaries for the oracles."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import cache_from_source
from pathlib import Path
from queue import SimpleQueue

import mirrord

ROOT = Path(__file__).parents[2]
LONGEST = 240  # seconds for one mutant
AT_ONCE = 2  # mutants tried at the same time: the machines that play them all have two cores

_OPTIONS = ("-p", "no:cacheprovider", "--hypothesis-profile=unshrunk")
_GUARDS = "tests/faults/test_guards.py"
_HELD = "tests/system/test_halted_contents.py"


@dataclass(frozen=True, slots=True)
class Mutant:
    """A change to one module: *old*, which is there exactly once, becomes *new*. test: what must fail then."""

    name: str
    module: str
    old: str
    new: str
    test: str


MUTANTS = (
    Mutant(
        "a new text is not synced before it takes its place",
        "mirror/write/journal.py",
        "kernel.fsync_all(descriptor, *notes)",
        "kernel.fsync_all(*notes)",
        f"{_GUARDS}::test_a_new_text_is_durable_before_it_takes_its_place_and_its_place_before_it_is_recorded",
    ),
    Mutant(
        "the feed is read page by page, transactions are split",
        "db/content/entry_states.py",
        "ROWS WITH TIES",
        "ROWS ONLY",
        "tests/system/test_feed.py",
    ),
    Mutant(
        "an absence is a deletion at once",
        "sync/deletions.py",
        "return max(0.0, self.added_at + QUIET_SECONDS - time.monotonic()) if self.entries else None",
        "return 0.0 if self.entries else None",
        f"{_GUARDS}::test_a_file_that_is_away_for_a_moment_was_never_deleted",
    ),
    Mutant(
        "files are compared by size and time of the last write",
        "mirror/seen_files.py",
        "packed.startswith(_STAT.pack(*stat[:5]))",
        "packed.startswith(_STAT.pack(*stat[:4], 0)[:-8])",
        f"{_GUARDS}::test_a_save_whose_time_was_set_back_arrives",
    ),
    Mutant(
        "what an exchange brought out is not looked at",
        "mirror/write/displaced_files.py",
        "    return None if digest == label.expected else _displaced_save(journal, name)\n",
        "    return None\n",
        "tests/unit/mirror/test_replace.py",
    ),
    Mutant(
        "the lease's token is not checked",
        "db/database.py",
        'await connection.execute("SELECT mirrord.begin_writing(%s, %s, %s, %s)", values)',
        "pass",
        f"{_GUARDS}::test_whoever_lost_the_lease_commits_nothing",
    ),
    Mutant(
        "rows are written whatever their version is",
        "db/content/entry_tables.py",
        " AND version = %(expected)s RETURNING version",
        " RETURNING version",
        f"{_GUARDS}::test_a_row_that_went_on_is_not_overwritten",
    ),
    Mutant(
        "a change within two seconds of the last one is an echo",
        "sync/observation/file_look.py",
        "        self._look_at_ancestors(path, result, forced)\n        try:\n            data, stat",
        "        last = self.index.get(path)\n"
        "        if last is not None and stat.mtime_ns - last.mtime_ns < 2_000_000_000:\n"
        "            return\n"
        "        self._look_at_ancestors(path, result, forced)\n        try:\n            data, stat",
        f"{_GUARDS}::test_a_save_within_the_second_of_the_last_one_arrives",
    ),
    Mutant(
        "the base is written before the file",
        "sync/writing/file_writes.py",
        "    bases = await asyncio.gather(*map(write_limited, decisions))\n",
        "    rows = [row_of(decision) for decision in decisions]\n"
        "    early = [Base(r.entry, r.kind, paths[r.entry], r.place, r.version, r.digest, None) for r in rows]\n"
        "    async with sides.database.transaction(sides.tenant, sides.lease) as connection:\n"
        "        await run_statements(connection, [sides.writer.store_base(base) for base in early])\n"
        "    bases = await asyncio.gather(*map(write_limited, decisions))\n",
        f"{_GUARDS}::test_a_rows_text_reaches_its_file_though_the_writer_is_killed_before_the_exchange",
    ),
    Mutant(
        "what was replaced is removed at once",
        "mirror/write/journal.py",
        "        if not keep:\n",
        "        if True:\n",
        f"{_GUARDS}::test_a_late_write_to_a_replaced_file_is_taken_in",
    ),
    Mutant(
        "a copy is dropped for what a name in the trash says",
        "mirror/write/written_copies.py",
        'any(_has_digest(tree, f"{TRASH_PATH}/{name}", label.new) for name in matching_names)',
        "bool(matching_names)",
        "tests/unit/mirror/test_trash.py",
    ),
    Mutant(
        "a displaced save is filed under the digest of another text",
        "sync/writing/leftover_saves.py",
        "keep=True, digest=digest_of(data))",
        "keep=True)",
        "tests/system/test_trash_sweep.py",
    ),
    Mutant(
        "equal sides are left alone, whatever was agreed on",
        "sync/decisions/entry_decision.py",
        "return Move.NOTHING if base == file and version == row.version else Move.ADOPT",
        "return Move.NOTHING",
        f"{_GUARDS}::test_decisions_lead_both_mirrors_to_what_the_rows_say",
    ),
    Mutant(
        "a deletion of a file beats the row's edit",
        "sync/decisions/entry_decision.py",
        "    if base is None or row.digest != base.digest:\n        return Move.CREATE",
        "    if base is None:\n        return Move.CREATE",
        "tests/unit/test_plan.py",
    ),
    Mutant(
        "a formula takes links",
        "markdown/parser/syntax_rules.py",
        'if not match or "](" in match[1] or not match[1].strip():',
        "if not match or not match[1].strip():",
        "tests/unit/codec/test_cases.py",
    ),
    Mutant(
        "a block of $$ goes on behind its first pair",
        "markdown/parser/syntax_rules.py",
        'if "$$" in latex:',
        'if "$$$$" in latex:',
        "tests/unit/codec/test_cases.py",
    ),
    Mutant(
        "letters beside delimiters that fail are numbers",
        "markdown/inline/inline_writer.py",
        "return [_to_tag(piece) if index in tagged else piece for index, piece in enumerate(pieces)]",
        "return list(pieces)",
        "tests/unit/codec/test_cases.py",
    ),
    Mutant(
        "front matter in TOML is text",
        "markdown/frontmatter/page_text.py",
        '_OPENING = re.compile(r"(?:---|\\+\\+\\+)[ \\t]*(?:\\r\\n|\\n|\\r)")',
        '_OPENING = re.compile(r"---[ \\t]*(?:\\r\\n|\\n|\\r)")',
        "tests/unit/codec/test_head_forms.py",
    ),
    Mutant(
        "pages are written as pages of no dialect",
        "markdown/write/render.py",
        "or read_whole(unix_body, dialect)",
        "or read_whole(unix_body)",
        "tests/unit/codec/test_foreign_syntax.py",
    ),
    Mutant(
        "an item alone with its box is no task",
        "markdown/write/render.py",
        "as_read = with_task_lists(mark",
        "as_read = list(mark",
        "tests/unit/codec/test_structural_edits.py",
    ),
    Mutant(
        "an item is not known by its own text",
        "markdown/write/block_matching.py",
        "SAME_HEAD_BONUS = 1.0",
        "SAME_HEAD_BONUS = 0.0",
        "tests/unit/codec/test_structural_edits.py",
    ),
    Mutant(
        "a letter behind a break comes before the blank there",
        "markdown/inline/source_map.py",
        "self.keys[unit - 1][0] != _BREAK:",
        "True:",
        "tests/unit/codec/test_text_splice.py",
    ),
    Mutant(
        "the tokens of a list that becomes loose stay those of a tight one",
        "markdown/read/item_reparse.py",
        "_tightness_of(old) != _tightness_of(new) or ",
        "",
        "tests/unit/codec/test_increment.py::test_an_edit_in_a_list_is_read_as_the_whole_page_is",
    ),
    Mutant(
        "the text of a derivation is forgotten before its first save",
        "markdown/write/stored_form.py",
        "    LATEST_READINGS.remember(reading)",
        "    pass",
        "tests/unit/codec/test_next_saves.py",
    ),
    Mutant(
        "typed syntax of another program stays text",
        "markdown/write/render.py",
        'as_read = with_task_lists(mark_foreign_syntax(new_document.get("content") or [], dialect))',
        'as_read = new_document.get("content") or []',
        "tests/unit/codec/test_foreign_syntax.py",
    ),
    Mutant(
        "the end of an element goes on with the list before it",
        "markdown/parser/dialect.py",
        '{"alt": ["paragraph", "reference", "blockquote", "list"]})\n    if foreign_inline',
        '{"alt": []})\n    if foreign_inline',
        "tests/unit/codec/test_foreign_syntax.py",
    ),
    Mutant(
        "a pair of tags in or around a link is a second link",
        "markdown/inline/html_tags.py",
        "if token.type in _LINKING_TOKENS or links:",
        "if False:",
        "tests/unit/codec/test_anchors.py",
    ),
    Mutant(
        "an image by label gets the address when its description changes",
        "markdown/inline/inline_splice.py",
        "if marks != new_marks or not _is_redescribed(old, new):",
        "if True:",
        "tests/unit/codec/test_images.py",
    ),
    Mutant(
        "a changed word may be markup for other parsers",
        "markdown/inline/inline_splice.py",
        "and not _is_text_change(source, edits, result)",
        "and False",
        "tests/unit/codec/test_text_splice.py",
    ),
    Mutant(
        "a text that ends at a line and not at a blank one is no neighbour to read",
        "markdown/read/reparse.py",
        'gap.endswith("\\n") and _is_blank_line_last(gap)',
        'gap.endswith("\\n")',
        "tests/unit/codec/test_increment.py",
    ),
    Mutant(
        "a link behind the end of any tag is none",
        "markdown/inline/html_tags.py",
        "index - 1 not in self._anchor_ends",
        "index - 1 not in self.closing",
        "tests/unit/codec/test_anchors.py",
    ),
    Mutant(
        "a break with marks that the normal form drops is not located",
        "markdown/inline/source_map.py",
        "(key[0] == normal_key[0] == _BREAK and normal_key[1] < key[1])",
        "False",
        "tests/unit/codec/test_text_splice.py",
    ),
    Mutant(
        "a pair of tags counts across other tags",
        "markdown/inline/html_tags.py",
        "level += token.nesting + (index in self.opening) - (index in self.closing)",
        "level += token.nesting",
        "tests/unit/codec/test_anchors.py",
    ),
    Mutant(
        "raw tags of links in a document of before are no links",
        "markdown/schema/normal_form.py",
        "_split_outer_space(join_anchors(content))",
        "_split_outer_space(content)",
        "tests/unit/codec/test_anchors.py",
    ),
    Mutant(
        "a link of tags may run a script",
        "markdown/schema/anchor_tags.py",
        "return bool(href) and not is_template and not is_script(href)",
        "return bool(href) and not is_template",
        "tests/unit/codec/test_anchors.py",
    ),
    Mutant(
        "what is between the tags of a link gets their emphasis",
        "markdown/schema/anchor_tags.py",
        """(node.get("marks") or [])[: len(marks)] != marks""",
        """len(marks) < 0""",
        "tests/unit/codec/test_anchors.py",
    ),
    Mutant(
        "a shorter fence ends a directive of MyST",
        "markdown/parser/foreign_syntax.py",
        "{name}`*[ \\t]*",
        "`{{3,}}[ \\t]*",
        "tests/unit/codec/test_foreign_syntax.py::test_a_directive_of_myst_ends_with_its_fence",
    ),
    Mutant(
        "what the configuration of Logseq leaves out is read",
        "markdown/logseq_days.py",
        "elif ignored:",
        "elif ignored > 9:",
        "tests/unit/test_logseq_days.py::test_formats_are_read_from_the_configuration",
    ),
    Mutant(
        "any text is a format of days",
        "markdown/logseq_days.py",
        """parts == "Mdy" and written.isprintable()""",
        """written.isprintable()""",
        "tests/unit/test_logseq_days.py",
    ),
    Mutant(
        "tags of Logseq in labels of links are links",
        "markdown/page_links.py",
        "is_apart = link.start >= end or not is_tag_at(text, link.start)",
        "is_apart = True",
        "tests/unit/test_links_of_dialects.py::test_tags_of_logseq_are_links",
    ),
    Mutant(
        "a tag of Logseq takes every name without brackets",
        "markdown/logseq_tags.py",
        'return name if _TAG.fullmatch(f"#{name}") else f"[[{name}]]"',
        "return name",
        "tests/unit/test_links_of_dialects.py::test_links_of_logseq_keep_their_style_when_pages_move",
    ),
    Mutant(
        "a blank line ends an expression of MDX",
        "markdown/parser/foreign_syntax.py",
        "[_measure_statement, _measure_mdx]",
        "[_measure_statement]",
        "tests/unit/web/test_document_html.py",
    ),
    Mutant(
        "braces in comments and texts of MDX count",
        "markdown/parser/mdx_lines.py",
        """_IN_BRACES.search(text, at, limit):""",
        """re.compile("[{}]").search(text, at, limit):""",
        "tests/unit/codec/test_foreign_syntax.py",
    ),
    Mutant(
        "a new column has all cells of its table written again",
        "markdown/write/item_merge.py",
        "places = _places_of_cells(old_cells, bare) if",
        "places = dict[int, int]() if",
        "tests/unit/codec/test_structural_edits.py",
    ),
    Mutant(
        "rows that differ in their alignment alone make tables differ",
        "markdown/schema/block.py",
        "fingerprint(_without_column_attrs(normalize(row)))",
        "fingerprint(normalize(row))",
        "tests/unit/codec/test_block_meanings.py",
    ),
    Mutant(
        "rows whose normal forms are known lose the alignment of their columns",
        "markdown/schema/normal_form.py",
        'return align_rows(filled) if name == "table" else filled',
        "return filled",
        "tests/unit/codec/test_block_meanings.py",
    ),
    Mutant(
        "blocks in two containers are known by their kinds",
        "markdown/schema/block.py",
        "return orjson.dumps(without_ids(content))",
        'return orjson.dumps([node["type"] for node in content])',
        "tests/unit/codec/test_block_meanings.py",
    ),
    Mutant(
        "a line of a list is compared with two items only",
        "markdown/parser/lazy_lines.py",
        "return not is_lazy_line(state, start) and list_block",
        "return list_block",
        "tests/unit/codec/test_cases.py",
    ),
    Mutant(
        "a paragraph of one line ends before a line that goes on with it",
        "markdown/parser/fast_paths.py",
        "    if is_lazy_line(state, after):\n        return False\n",
        "",
        "tests/unit/codec/test_cases.py",
    ),
    Mutant(
        "a vertical tab is a blank beside emphasis",
        "markdown/parser/emphasis_signs.py",
        "if _VERTICAL_TAB in (above, beyond):",
        "if False:",
        "tests/unit/codec/test_cases.py",
    ),
    Mutant(
        "an item that moves takes its blank line along",
        "markdown/write/block_parts.py",
        "if len(places) == len(pieces) == len(cut.parts) and None not in places:",
        "if False:",
        "tests/unit/codec/test_structural_edits.py",
    ),
    Mutant(
        "a new item between two others removes the blank line that was between them",
        "markdown/write/block_parts.py",
        "if right == left + 1)",
        "if right == left)",
        "tests/unit/codec/test_structural_edits.py",
    ),
    Mutant(
        "a tag in a further line ends its paragraph",
        "markdown/inline/inline_writer.py",
        '(_INDENT_OF_TAG if is_indented else "") + piece.text',
        "piece.text",
        "tests/unit/codec/test_cases.py",
    ),
    Mutant(
        "a page that is arranged once more begins with the widest gaps",
        "markdown/write/render.py",
        "for result in dict.fromkeys(results))",
        "for result in results[::-1])",
        "tests/unit/codec/test_structural_edits.py",
    ),
    Mutant(
        "many pages that an app emptied are each held, and that is all",
        "sync/decisions/guard.py",
        "if pages <= limit and not is_halted:",
        "if not is_halted:",
        f"{_HELD}::test_an_autosave_over_many_pages_halts_and_no_file_changes",
    ),
    Mutant(
        "only what was held when the halt came is in it",
        "sync/decisions/guard.py",
        "if pages <= limit and not is_halted:",
        "if pages <= limit or is_halted:",
        f"{_HELD}::test_further_pages_join_the_halt",
    ),
    Mutant(
        "short pages are emptied while an app is halted",
        "sync/writing/row_rendering.py",
        "return HALTED_LIMITS if page.is_halted else USUAL_LIMITS",
        "return USUAL_LIMITS",
        f"{_HELD}::test_short_pages_and_single_nodes_are_held_only_while_the_app_is_halted",
    ),
    Mutant(
        "a decision about emptied pages writes over rows that changed since",
        "sync/held_contents.py",
        'if not any("content" in row.ahead_columns for row in rows):',
        "if not rows:",
        f"{_HELD}::test_a_row_that_changed_just_before_a_decision_is_carried_out_keeps_what_it_has",
    ),
)

QUICK = (MUTANTS[6], MUTANTS[10])  # for `make test`


def survivors(mutants: Sequence[Mutant]) -> Iterator[tuple[Mutant, list[str]]]:
    """Each mutant, in order, with a sentence if it is not caught."""
    with _copies(min(AT_ONCE, len(mutants))) as copies, ThreadPoolExecutor(AT_ONCE) as attempts:
        for mutant, why in zip(mutants, attempts.map(partial(_try, copies), mutants), strict=True):
            yield mutant, [f"SURVIVES {mutant.name}: {why}"] if why else []


def is_caught(mutant: Mutant) -> str | None:
    """Run the mutant's test on a copy of the package that has it; None: caught, else a sentence."""
    with _copies(1) as copies:
        return _try(copies, mutant)


Copies = SimpleQueue[Path]  # of the package and its tests, without a mutant; each is used by one at a time


@contextmanager
def _copies(number: int) -> Iterator[Copies]:
    """To copy takes longer than most mutants live: one copy serves many of them."""
    copies = Copies()
    with tempfile.TemporaryDirectory(prefix="mirrord-mutant-") as directory:
        Path(directory, "shared").symlink_to(ROOT.parent / "shared")  # the pages of tests/corpora.py, where they are
        for name in range(number):
            copy = Path(directory, str(name))
            _copy(copy)
            copies.put(copy)
        yield copies


def _try(copies: Copies, mutant: Mutant) -> str | None:
    copy = copies.get()
    module, original = copy / "mirrord" / mutant.module, Path(mirrord.__file__).parent / mutant.module
    try:
        text = original.read_text(encoding="utf-8")
        if text.count(mutant.old) != 1:
            return f"cannot be made any more: {mutant.module} does not have the lines it changes"
        module.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
        Path(cache_from_source(module)).unlink(missing_ok=True)
        return _verdict(mutant, _test(copy, mutant.test))
    finally:
        shutil.copy2(original, module)
        shutil.rmtree(copy / ".hypothesis", ignore_errors=True)  # each mutant is caught by examples of its own
        copies.put(copy)


def _verdict(mutant: Mutant, completed: subprocess.CompletedProcess[str]) -> str | None:
    failed, broken = (re.search(rf"^{sign} ", completed.stdout, re.MULTILINE) for sign in ("FAILED", "ERROR"))
    if completed.returncode == 1 and failed and not broken:
        return None
    return f"not caught by {mutant.test} (exit code {completed.returncode}): {completed.stdout[-300:]}"


def _copy(target: Path) -> None:
    """With what is compiled already: else each process of the test would compile again what it loads."""
    skip = shutil.ignore_patterns("node_modules", "*.pyc.*")  # other tests may just be writing the latter
    shutil.copytree(Path(mirrord.__file__).parent, target / "mirrord", ignore=skip)
    shutil.copytree(ROOT / "tests", target / "tests", ignore=skip)
    shutil.copy(ROOT / "pyproject.toml", target)


def _test(copy: Path, test: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", *_OPTIONS, *test.split()],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LONGEST,
    )
