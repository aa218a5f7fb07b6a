"""Proofs about both sides changing one page before either has heard of the other."""

from tests.support.editors import save
from tests.support.harness import Mirrord, eventually


def edits_of_both_sides_at_once_are_merged(mirrord: Mirrord) -> None:
    """Different lines: both edits are in the page, on both sides."""
    path = "Shared.md"
    _change_both(
        mirrord,
        path,
        before="one\n\ntwo\n\nthree\n",
        file="one, by a file\n\ntwo\n\nthree\n",
        row="one\n\ntwo\n\nthree, by a row\n",
    )
    merged = "one, by a file\n\ntwo\n\nthree, by a row\n"
    eventually(lambda: mirrord.text(path) == merged, f"the merged text in the file {path}")
    eventually(lambda: (page := mirrord.page(path)) and page.markdown == merged, f"the merged text in the row {path}")

    assert mirrord.status()["conflicts"] == 0, "a clean merge is listed as a conflict"


def both_texts_of_the_same_line_can_be_found(mirrord: Mirrord) -> None:
    """The row keeps the name, the file's text is a sibling, both on both sides; `mirrord conflicts` lists it."""
    path, file, row = "Disputed.md", "red, says the file\n", "blue, says the row\n"
    _change_both(mirrord, path, before="colour?\n", file=file, row=row)
    eventually(lambda: mirrord.text(path) == row, f"the row's text in {path}")
    sibling = eventually(lambda: next(mirrord.root.glob("Disputed (conflict*).md"), None), "a conflict sibling")

    assert sibling.read_text(encoding="utf-8").endswith(file), f"{sibling.name} does not hold the file's text"
    page, other = mirrord.page(path), mirrord.page(sibling.name)
    assert page is not None, "the disputed page's row is gone"
    assert page.markdown == row, f"the row holds {page.markdown!r}"
    assert other is not None, "the conflict sibling has no row"
    assert (other.markdown or "").endswith(file), f"the sibling's row holds {other.markdown!r}"
    assert path in mirrord.run("conflicts").stdout, "`mirrord conflicts` does not list it"


def _change_both(mirrord: Mirrord, path: str, *, before: str, file: str, row: str) -> None:
    save(mirrord.file(path), before)
    page = eventually(lambda: mirrord.page(path), f"a row of {path}")
    with mirrord.frozen():
        save(mirrord.file(path), file)
        mirrord.app.execute("UPDATE mirrord.page SET markdown = %s WHERE id = %s", [row, page.id])
