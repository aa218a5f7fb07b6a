"""Proofs that texts written on one side appear on the other."""

from functools import partial
from typing import Any
from uuid import uuid4

from psycopg.types.json import Jsonb

from tests.support.editors import save, save_in_place
from tests.support.harness import Mirrord, eventually

# Spelled as people spell and no writer would: the bytes of what nobody edits must not change.
SPELLED = """---
# the order of these keys is mine
title: 'Quoted, and with a comment'   # kept
tags: [b,  a]
rating: 1.10        # stays 1.10
---
Setext Heading
==============

The old words of this paragraph.

*   a star
*   with three blanks

| a|b |
|:-|--:|
|1 |  2|

```  python
x  = 1
```
Last line without an end"""


def a_new_file_becomes_a_row(mirrord: Mirrord) -> None:
    """Exact bytes at once, the document soon after."""
    text = "# Über uns\n\nA new page.\n"
    save(mirrord.file("Notes/Neu.md"), text)
    page = eventually(lambda: mirrord.page("Notes/Neu.md"), "a row of Notes/Neu.md")

    assert page.markdown == text, f"the row holds {page.markdown!r}, the file {text!r}"
    content = eventually(lambda: _content(mirrord, "Notes/Neu.md"), "the document of Notes/Neu.md")
    assert [node["type"] for node in content["content"]] == ["heading", "paragraph"], f"the document is {content}"


def an_edited_file_changes_its_row(mirrord: Mirrord) -> None:
    """However the editor saves."""
    file = mirrord.file("Edited.md")
    save(file, "first\n")
    first = eventually(lambda: mirrord.page("Edited.md"), "a row of Edited.md")
    save(file, "second, by rename\n")
    eventually(lambda: _markdown(mirrord, "Edited.md") == "second, by rename\n", "the row of a file saved by rename")
    save_in_place(file, "third, in place\n")
    eventually(lambda: _markdown(mirrord, "Edited.md") == "third, in place\n", "the row of a file saved in place")

    last = mirrord.page("Edited.md")
    assert last is not None
    assert last.id == first.id, "an edit changed the page's id"
    assert last.version == first.version + 2, f"two edits made version {last.version} of {first.version}"


def an_edited_row_changes_only_its_own_lines_of_the_file(mirrord: Mirrord) -> None:
    """A title and a paragraph change; every other byte stays."""
    path = "Spelled.md"
    save(mirrord.file(path), SPELLED)
    content = eventually(lambda: _content(mirrord, path), f"the document of {path}")
    page = mirrord.page(path)
    assert page is not None
    content["content"][1]["content"][0]["text"] = "The new words of this paragraph."
    mirrord.app.execute("UPDATE mirrord.page SET content = %s WHERE id = %s", [Jsonb(content), page.id])
    expected = SPELLED.replace("The old words", "The new words")
    eventually(lambda: mirrord.text(path) == expected, f"the new paragraph in {path}, and nothing else")
    mirrord.app.execute("UPDATE mirrord.page SET title = 'Plain' WHERE id = %s", [page.id])
    eventually(lambda: "Plain" in (mirrord.text(path) or ""), f"the new title in {path}")

    lines = list(zip(expected.split("\n"), (mirrord.text(path) or "").split("\n"), strict=True))
    changed = [after for before, after in lines if before != after]
    assert len(changed) == 1, f"a new title changed the lines {changed}"
    assert changed[0].endswith("# kept"), f"the comment beside the title is gone: {changed[0]!r}"


def an_inserted_row_becomes_a_file(mirrord: Mirrord) -> None:
    """Named by its title, below its parent, with its id inside."""
    parent, child = uuid4(), uuid4()
    words = {"type": "doc", "content": [{"type": "paragraph", "content": [{"type": "text", "text": "From a row."}]}]}
    with mirrord.app.transaction():
        mirrord.app.execute(
            "INSERT INTO mirrord.page (id, title, markdown) VALUES (%s, 'Row: one', %s)", [parent, "Above.\n"]
        )
        mirrord.app.execute(
            "INSERT INTO mirrord.page (id, parent_id, title, content) VALUES (%s, %s, 'Two', %s)",
            [child, parent, Jsonb(words)],
        )
    for name, page, ending in (("Row- one.md", parent, "Above.\n"), ("Row- one/Two.md", child, "From a row.\n")):
        eventually(partial(mirrord.text, name), f"a file {name}")
        text = mirrord.text(name) or ""
        assert f"id: {page}" in text, f"{name} does not carry its id: {text!r}"
        assert text.endswith(ending), f"{name} does not end with {ending!r}: {text!r}"


def _content(mirrord: Mirrord, path: str) -> dict[str, Any] | None:
    page = mirrord.page(path)
    return page.content if page else None


def _markdown(mirrord: Mirrord, path: str) -> str | None:
    page = mirrord.page(path)
    return page.markdown if page else None
