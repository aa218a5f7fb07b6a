"""Attacks by paths, as data: each is tried as every path that every tool takes."""

from collections.abc import Callable, Mapping
from typing import Any

from tests.redteam.judging import DONE

_Call = tuple[str, Mapping[str, Any]]
_OTHER = "Other.md"

# Where a path goes: the tools that look, and those that make, change or take away.
LOOKING: Mapping[str, Callable[[str], _Call]] = {
    "read": lambda path: ("read_page", {"path": path}),
    "list": lambda path: ("list_pages", {"path": path, "includeContent": True, "depth": 3}),
    "tree": lambda path: ("get_tree", {"path": path, "includeMetadata": True}),
    "search": lambda path: ("search_pages", {"query": "secret", "path": path}),
    "links": lambda path: ("get_page_links", {"path": path}),
    "status": lambda path: ("sync_status", {"path": path}),
    "edit": lambda path: ("edit_page", {"path": path, "edits": [{"find": "Secret", "replace": "x"}]}),
    "delete": lambda path: ("delete_page", {"path": path, "recursive": True}),
    "move from": lambda path: ("move_page", {"sourcePath": path, "destinationPath": _OTHER}),
    "attach to": lambda path: ("add_attachment", {"pagePath": path, "filePath": "<UPLOADS>/plan.png"}),
    "create below": lambda path: ("create_page", {"title": "Mine", "parentPath": path}),
    "attach": lambda path: ("add_attachment", {"pagePath": "Notes.md", "filePath": path}),
    "list attachments": lambda path: ("list_attachments", {"path": path}),
    "read attachment": lambda path: ("read_attachment", {"path": path}),
}
MAKING: Mapping[str, Callable[[str], _Call]] = {
    "write": lambda path: ("write_page", {"path": path, "content": "mine"}),
    "move to": lambda path: ("move_page", {"sourcePath": "Welcome.md", "destinationPath": path}),
    "attach as": lambda path: (
        "add_attachment",
        {"pagePath": "Notes.md", "filePath": "<UPLOADS>/plan.png", "fileName": path},
    ),
}

OWN_ATTACHMENTS = ("assets/a.png", "projects/assets/own.png")  # no pages, but attachments may be read, in any case

_NONE = frozenset({"PAGE_NOT_FOUND", "FILE_NOT_FOUND", "ATTACHMENT_NOT_FOUND"})
_OUT = frozenset({"FORBIDDEN", "INVALID_PATH", "INVALID_NAME", "REFUSED", "FILE_NOT_FOUND", "ATTACHMENT_NOT_FOUND"})
_MISSING = _NONE | _OUT
_ANYTHING_INSIDE = _MISSING | {DONE, "EXISTS", "INVALID_NAME"}

# By kind: path, and how looking and making may end. Only DONE needs a reason: what is made lies inside the tree.
PATHS: Mapping[str, Mapping[str, tuple[frozenset[str], frozenset[str]]]] = {
    "traversal": dict.fromkeys(
        (
            "..",
            "../",
            "../rival-ltd/Secret.md",
            "../../elsewhere/Alpha.md",
            "Projects/../../rival-ltd/Secret",
            "Projects/../Welcome.md",
            "./../loose.md",
            "Projects/..",
            "Projects/./Alpha.md",
            "Projects//Alpha.md",
            "..//..//data/pg/secret.md",
            "../.mirrord/loose.md",
            "../" * 60 + "etc/passwd",
            "a/" * 200 + "../" * 201 + "rival-ltd/Secret.md",
            "../demo/Welcome.md",
        ),
        (_OUT, _OUT),
    ),
    "absolute": dict.fromkeys(
        (
            "/etc/passwd",
            "//etc/passwd",
            "<RIVAL>/Secret.md",
            "<ROOT>/Welcome.md",
            "<ROOT>/../rival-ltd/Secret.md",
            "<ELSEWHERE>/Alpha.md",
            "<BASE>/data/keys/signing.pem",
            "/proc/self/environ",
            "/proc/self/cwd/Alpha.md",
            "/dev/stdin",
        ),
        (_OUT, _OUT),
    ),
    "kept by mirrord": dict.fromkeys(
        (
            ".mirrord",
            ".mirrord/secret.md",
            ".mirrord/id",
            ".MIRRORD/secret.md",
            ".Mirrord/trash",
            ".records/secret.md",
            ".RECORDS/secret",
            ".records/events",
            ".git/config.md",
            ".git",
            ".hidden/page.md",
            ".mirrorignore",
            ".md",
            "...",
            "Projects/.hidden.md",
            "assets/a.png",
            "ASSETS/a.png",
            "Assets",
            "Projects/assets/own.png",
            "assets/evil.md",
            "Projects/aSSets/evil.md",
            "Projects/ASSETS/_index.md",
        ),
        (_OUT, _OUT),
    ),
    # Decoded by nobody: names like others, below the root, or refused for what other systems would do with them.
    "encoded": dict.fromkeys(
        (
            "%2e%2e/%2e%2e/etc/passwd",
            "%2e%2e%2frival-ltd%2fSecret.md",
            "..%2frival-ltd/Secret.md",
            "..%252frival-ltd%252fSecret.md",
            "%c0%ae%c0%ae/rival-ltd/Secret.md",
            "%00.md",
            "page:///Welcome.md",
            "file:///etc/passwd",
            "&#46;&#46;/rival-ltd/Secret.md",
            "\\u002e\\u002e/Secret.md",
        ),
        (_MISSING, _ANYTHING_INSIDE),
    ),
    "backslashes": dict.fromkeys(
        (
            "..\\rival-ltd\\Secret.md",
            "..\\..\\elsewhere\\Alpha.md",
            "C:\\Windows\\win.ini",
            "\\\\server\\share\\x.md",
            "\\\\?\\C:\\x",
            "Projects\\..\\..\\x.md",
            "C:/Windows/win.ini",
            "Projects/Alpha.md::$DATA",
            "Alpha.md:stream",
        ),
        (_MISSING, _OUT),
    ),
    "look-alikes of dots and slashes": {  # noqa: C420  (a comment for each)
        path: (_MISSING, _ANYTHING_INSIDE)
        for path in (
            "\u2024\u2024/rival-ltd/Secret.md",  # one dot leader
            "\u2025/rival-ltd/Secret.md",  # two dot leader
            "\ufe52\ufe52/Secret.md",  # small full stop
            "\uff0e\uff0e/rival-ltd/Secret.md",  # fullwidth full stop
            "\uff0e\uff0e\uff0frival-ltd\uff0fSecret.md",  # fullwidth solidus
            "..\u2215rival-ltd\u2215Secret.md",  # division slash
            "..\u2044Secret.md",  # fraction slash
            ".\u200b./rival-ltd/Secret.md",  # zero width space
            "\u202e..\u202c/dm.terceS",  # right-to-left override
            "\ufeff../Secret.md",  # byte order mark
            "\u00ad..",  # soft hyphen
            "a\u0338/Secret.md",  # combining solidus
        )
    },
    "controls": dict.fromkeys(
        (
            "\x00",
            "Welcome.md\x00.png",
            "../rival-ltd/Secret.md\x00.md",
            "Wel\ncome.md",
            "Welcome.md\r\n",
            "Wel\tcome.md",
            "\x1b[31mred.md",
            "a\x7fb.md",
            "a\x85b.md",
            "a\x08\x08\x08b",
        ),
        (_MISSING, _OUT),
    ),
    "long": dict.fromkeys(
        (
            "a" * 255,
            "a" * 256,
            "a" * 4096,
            "a" * 100000,
            "ä" * 128,
            "😀" * 64,
            "/".join(["a" * 255] * 15),
            "a" * 252 + ".md",
            "x/" * 2047 + "xx",
        ),
        (_MISSING, _OUT),
    ),
    "deep": {
        "/".join(["d"] * 1_900): (_MISSING, _OUT),
        "/".join(["aaaaaaaaaa"] * 300): (_MISSING, _OUT),
    },
    "names of devices": dict.fromkeys(
        ("con", "NUL.md", "aux/page.md", "COM1", "lpt¹.md", "con.backup.md", "-rf", "--help.md", "~$x.md"),
        (_MISSING, _OUT),
    ),
    "nothing": {
        path: (_MISSING, _ANYTHING_INSIDE | {"INVALID_ARGUMENTS"})
        for path in (" ", "\u3000", "*", "?", "[a-z]*", "$(id)", "`id`", "; rm -rf .", "${HOME}", "~", "~root/x.md")
    },
}
