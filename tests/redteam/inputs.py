"""Attacks by what is sent or written, as data: wrong shapes, forged ids, bombs of YAML, Markdown and patterns."""

import json
from collections.abc import Mapping
from typing import Any

from tests.redteam.judging import DONE

Call = tuple[str, Mapping[str, Any]]  # tool, arguments

_DIGEST = "ab" * 32
_INVALID = frozenset({"INVALID_ARGUMENTS"})
_UNKNOWN = frozenset({"INVALID_CURSOR"})
_FORGED = frozenset({"NOT_IN_TRASH", "INVALID_DIGEST", "CONFLICT", "INVALID_ARGUMENTS"})


def _deep(levels: int) -> list[Any]:
    nested: list[Any] = []
    for _ in range(levels):
        nested = [nested]
    return nested


def _read(**arguments: Any) -> Call:
    return "read_page", {"path": "Welcome.md", **arguments}


def _edit(*edits: Any) -> Call:
    return "edit_page", {"path": "Notes.md", "edits": list(edits)}


_NO_PATHS: tuple[Any, ...] = (None, 7, 1.5, True, [], {}, ["Welcome.md"], {"path": "x"})
_NO_OFFSETS: tuple[Any, ...] = (-1, "x", 1.5, None, 10**30, [])
_NO_LIMITS: tuple[Any, ...] = (0, -1, 10**9, "many", {})
_NO_SECTIONS: tuple[Any, ...] = (1, [], {"a": 1})
SHAPES: tuple[Call, ...] = (
    *(("read_page", {"path": value}) for value in _NO_PATHS),
    *(_read(offset=value) for value in _NO_OFFSETS),
    *(_read(limit=value) for value in _NO_LIMITS),
    *(_read(**{name: 1}) for name in ("root", "tenant", "tenantId", "__class__", "session", "x" * 100_000, "", "\0")),
    *(_read(section=value) for value in _NO_SECTIONS),
    ("read_pages", {"paths": []}),
    ("read_pages", {"paths": ["Welcome.md"] * 51}),
    ("read_pages", {"paths": "[" * 100_000}),
    ("read_pages", {"paths": "Welcome.md"}),
    ("read_pages", {"paths": [1, None]}),
    ("read_pages", {"paths": _deep(100)}),
    ("write_page", {"path": "New.md"}),
    ("write_page", {"path": "New.md", "content": None}),
    ("write_page", {"path": "New.md", "content": {"a": 1}}),
    ("write_page", {"path": "New.md", "content": "\ud800"}),
    ("write_page", {"path": "\udfff.md", "content": "x"}),
    ("create_page", {"title": ["x"]}),
    ("create_page", {}),
    ("list_pages", {"depth": 0}),
    ("list_pages", {"depth": 10**6}),
    ("list_pages", {"depth": "1; drop table entry"}),
    ("search_pages", {"query": "x", "limit": 101}),
    ("search_pages", {"query": ["x"]}),
    ("sync_status", {"wait": 10**6}),
    ("sync_status", {"wait": -1}),
    ("delete_page", {"path": "Notes.md", "recursive": "perhaps"}),
    ("move_page", {"sourcePath": "Notes.md"}),
    ("move_page", {"sourcePath": "Notes.md", "destinationPath": "A.md", "overwrite": True}),
    ("edit_page", {"path": "Notes.md", "edits": {}}),
    ("edit_page", {"path": "Notes.md", "edits": "[]"}),
    ("edit_page", {"path": "Notes.md", "edits": json.dumps([{"find": "x", "replace": "y"}] * 101)}),
    _edit({"find": "x", "replace": "y", "path": "../x.md"}),
    _edit({"frontMatter": {"set": _deep(5)}}),
    _edit({"heading": "Notes", "action": "exec", "text": "x"}),
)

EDITS: tuple[Call, ...] = (
    _edit(
        {"find": "# Notes", "replace": "q" * 1_000},
        *({"find": "q", "replace": "q" * 1_000, "count": 1_000**power} for power in (1, 2, 3)),
    ),
    _edit({}),
    _edit({"find": "", "replace": "x"}),
    _edit({"find": "Notes", "replace": "x", "count": 0}),
    _edit({"find": "Notes", "replace": "x", "count": 10**15}),
    _edit({"find": "Notes", "replace": "x", "count": -1}),
    _edit({"find": "Notes", "heading": "Notes"}),
    _edit({"heading": "Notes", "text": "x"}),
    _edit({"heading": "(a+)+$", "action": "append", "text": "x"}),
    _edit({"frontMatter": {}}),
    _edit({"find": "Notes", "replace": "\0"}),
    _edit({"frontMatter": {"set": {"a: b\nid": "x"}}}),
    _edit({"frontMatter": {"set": {"x": "\0"}}}),
    _edit({"frontMatter": {"set": {"x": _deep(100)}}}),
)
EDITS_END = frozenset(
    {"TOO_LARGE", "INVALID_EDIT", "TEXT_NOT_FOUND", "HEADING_NOT_FOUND", "INVALID_PAGE", "INVALID_ARGUMENTS", DONE}
)

CURSORS: tuple[str, ...] = (
    "",
    "x",
    "!!!!",
    "\0",
    "ä",
    "W10",  # []
    "WyIiLCAiIiwgMF0",  # ["", "", 0]
    "WyJhIiwgIi4uLy4uL2V0Yy9wYXNzd2QiLCAtMV0",  # ["a", "../../etc/passwd", -1]
    "W1tbW1tb" * 20_000,
    "eyJhIjoxfQ",  # {"a":1}
    "gASVJAAAAAAAAACMBXBvc2l4lIwGc3lzdGVtlJOUjAlpZCA+IG93bmVklIWUUpQu",  # a pickle
)
FORGED: tuple[Call, ...] = (
    *(
        ("restore_page", {"trashId": value})
        for value in (
            "0123456789abcdef",
            "../../../rival-ltd/.mirrord/trash/x",
            "*",
            "",
            "\0",
            "0123456789ABCDEF",
            "0123456789abcdef\n",
            "0" * 100_000,
            "secret.md",
            "01234567\u0660\u0661\u0662\u0663\u0664\u0665\u0666\u0667",
        )
    ),
    *(
        ("write_page", {"path": "Welcome.md", "content": "mine", "expectedDigest": value})
        for value in ("", "x", "0" * 63, _DIGEST, "../x", "\0", " " + _DIGEST, "ab" * 100_000)
    ),
    ("delete_page", {"path": "Welcome.md", "expectedDigest": _DIGEST}),
    ("move_page", {"sourcePath": "Welcome.md", "destinationPath": "A.md", "expectedDigest": _DIGEST}),
    ("edit_page", {"path": "Welcome.md", "edits": [{"find": "See", "replace": "x"}], "expectedDigest": _DIGEST}),
)

PATTERNS: tuple[str, ...] = (
    "(a+)+$",
    "(a|a)*b",
    "(.*)*\\1",
    "(?=a)b",
    "((a{1,1000}){1,1000}){1,1000}",
    "[" * 900,
    "(" * 450 + ")" * 450,
    "(?:" * 180 + "a" + ")*" * 180,
    "a{99999999999}",
    "\\p{L}{1,99}",
    "(?P<x>a)(?P<x>b)",
    "\\xff\\x00",
    ".*.*.*.*.*.*.*.*.*.*=.*",
    "(?i)" * 200,
    "\\",
    "*",
)
QUERIES: tuple[str, ...] = ('"' * 1_000, "a " * 500, "ß" * 1_000, "\u0301" * 1_000, "--pre=sh x", "-f/etc/passwd", "\\")
NO_QUERIES: tuple[str, ...] = ("", " ", '""', "x" * 100_000, "a\nb", "a\0b")

_LOL = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{new}: &{new} [{','.join([f'*{old}'] * 9)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)
# Front matter that is refused, or read as nothing, or held as it is: the reply and its time are what matters.
YAML: Mapping[str, str] = {
    "aliases of aliases": _LOL,
    "a merge of aliases": "a: &a {x: 1}\nb: {<<: [" + ",".join(["*a"] * 5_000) + "]}\n",
    "an alias of itself": "a: &a [*a]\n",
    "a mapping in itself": "a: &a\n  b: *a\n",
    "flow nesting": "a: " + "[" * 5_000 + "]" * 5_000 + "\n",
    "open flow nesting": "a: " + "{" * 50_000 + "\n",
    "block nesting": "".join(f"{' ' * at}a:\n" for at in range(1_000)),
    "a python object": "a: !!python/object/apply:os.system ['touch /tmp/owned']\n",
    "a python name": "a: !!python/name:os.environ\n",
    "an include": "a: !include /etc/passwd\n",
    "no numbers": "a: .nan\nb: .inf\nc: -.inf\n",
    "a huge number": f"a: {'9' * 100_000}\n",
    "a number of base 60": "a: " + ":".join(["59"] * 5_000) + "\n",
    "a huge exponent": "a: 1e999999999\n",
    "many keys": "".join(f"k{at}: {at}\n" for at in range(20_000)),
    "the same key": "id: x\n" * 5_000,
    "a key that is a list": "? [a, b]\n: c\n",
    "binary": "a: !!binary aGVsbG8=\n",
    "a date that is none": "a: 9999-99-99\nb: 0000-00-00T99:99:99Z\n",
    "two documents": "a: 1\n...\n%YAML 9.9\nb: 2\n",
    "a directive": "%TAG ! tag:example.org,2000:\na: !x y\n",
    "tabs": "a:\n\t- b\n",
    "escapes": 'a: "\\uD800\\u0000\\x1b[31m"\n',
    "a long title": f"title: {'t' * 200_000}\n",
    "long tags": f"tags: [{', '.join(['t' * 1_000] * 200)}]\n",
    "an id that is a path": "id: ../../rival-ltd/Secret.md\n",
    "an icon": f"icon: {'i' * 200_000}\n",
    "a position": "position: [[[]]]\n",
}
_N = 20_000
MARKDOWN: Mapping[str, str] = {
    "brackets": "[" * _N,
    "closed brackets": "[" * _N + "]" * _N,
    "wikilinks": "[[" * _N,
    "embeds": "![[" * _N + "]]" * _N,
    "links in links": "[a](" * 2_000,
    "images": "![" * 2_000 + "](x)" * 2_000,
    "emphasis": "*a **a " * _N,
    "closing emphasis": "a**" * _N + "b" * 10 + "*c" * _N,
    "underscores": "_" * _N + "a" + "_" * _N,
    "tildes": "~" * _N + "a" + "~" * (_N - 1),
    "code": "".join("`" * length + " " for length in range(1, 300)),
    "quotes": ">" * _N + "a",
    "lists": "".join(f"{'  ' * at}- a\n" for at in range(500)),
    "lists in a line": "- " * 5_000 + "a",
    "fences": "```\n~~~\n" * 5_000,
    "html": "<a " * _N,
    "comments": "<!--" * _N,
    "entities": "&" * _N + "#x1F600;" * 1_000,
    "autolinks": "<http://" * _N,
    "references": "".join(f"[a{at}]: /x\n" for at in range(5_000)) + "[a]" * 5_000,
    "references of one": "[a]: " + "(" * _N,
    "tables": "|" * 2_000 + "\n" + "|-" * 2_000 + "|\n" + "|a\n" * 2_000,
    "headings": "# " + "a" * 1_000 + "\n" * 2 + "# x\n" * 2_000,
    "setext": "a\n" * _N + "=" * _N,
    "math": "$" * _N + "$$" * _N,
    "footnotes": "[^a]" * 5_000 + "\n[^a]: [^a]\n" * 2_000,
    "escapes": "\\" * _N + "[" * _N,
    "blanks": " " * _N + "\t" * _N + "a",
    "line ends": "\r" * _N + "\n\r" * _N,
    "combining marks": "a" + "\u0301" * _N,
    "right to left": "\u202e" * _N,
    "controls": "\x1b]0;x\x07" * 1_000,
    "one long line": "word " * 100_000,
    "equal lines": "".join(f"line {at % 150}\n" for at in range(30_000)),
}
WRITTEN = frozenset({DONE, "INVALID_FRONT_MATTER"})

SHAPES_END, CURSORS_END, FORGED_END = _INVALID, _UNKNOWN, _FORGED
PATTERNS_END = frozenset({DONE, "INVALID_REGEX", "BUSY"})
