"""The editor's sources: what they do without a browser, and how large they become. `make web` checks their types."""

import gzip

from tests.console.bundle import built, run
from tests.support import node
from tests.support.tiptap import SOURCE

LARGEST = 350_000  # bytes, as a browser loads it


def test_merging_loses_nothing_and_leaves_the_cursor_alone() -> None:
    node.installed(SOURCE)

    output = run("build.js", "--test")

    assert "# fail 0" in output
    assert int(output.partition("# pass ")[2].split()[0]) > 20


def test_the_built_editor_is_small() -> None:
    files = sorted(built().parent.glob("*.js"))

    assert [file.name for file in files] == ["editor.js", "formulas.js", "languages.js"]
    assert sum(len(gzip.compress(file.read_bytes())) for file in files) <= LARGEST
