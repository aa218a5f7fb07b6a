"""The editor's sources: what they do without a browser, and how large they become. `make web` checks their types."""

import gzip

from mirrord.web.own_files.assets import has_console_script
from tests.console.bundle import built, run
from tests.support import node
from tests.support.tiptap import SOURCE

LARGEST = 350_000  # bytes, as a browser loads it


def test_merging_loses_nothing_and_leaves_the_cursor_alone() -> None:
    node.installed(SOURCE)

    output = run("build.js", "--test")

    assert "# fail 0" in output
    assert int(output.partition("# pass ")[2].split()[0]) > 20


def test_all_that_a_page_may_load_is_small_and_the_console_is_one_script() -> None:
    files = sorted(built().parent.glob("*.js"))

    assert [file.name for file in files] == ["console.js", "editor.js", "formulas.js", "languages.js"]
    assert sum(len(gzip.compress(file.read_bytes())) for file in files) <= LARGEST
    assert has_console_script()
