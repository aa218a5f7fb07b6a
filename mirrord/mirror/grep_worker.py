"""
The process that searches files: `python -m mirrord.mirror.grep_worker`, a request and an answer a line, as JSON.

The library holds the interpreter's lock as long as it searches, so it must not run where anybody else waits.
"""

import json
import sys
from collections.abc import Iterator
from typing import Any

from pyripgrep import Grep


def main() -> None:
    """Answer until the other end closes."""
    grep = Grep()
    for line in sys.stdin.buffer:
        sys.stdout.buffer.write(json.dumps(answer(grep, json.loads(line))).encode() + b"\n")
        sys.stdout.buffer.flush()


def answer(grep: Grep, request: dict[str, Any]) -> dict[str, Any]:
    """
    What a request asks for.

    {pattern, root, limit or null} → {found: [path of a file that matches]}, in no order.
    {pattern, files: [path]} → {found: [[path, `path:number:line`]]}, of each that matches the first line that does.
    A pattern that is none → {error}.
    """
    try:
        if "files" in request:
            return {"found": list(_first_lines(grep, request["pattern"], request["files"]))}
        found = grep.search(
            request["pattern"], path=request["root"], output_mode="files_with_matches", head_limit=request["limit"]
        )
        return {"found": found}
    except ValueError as error:
        return {"error": str(error)}


def _first_lines(grep: Grep, pattern: str, files: list[str]) -> Iterator[tuple[str, str]]:
    for file in files:
        try:
            found = grep.search(pattern, path=file, output_mode="content", n=True, head_limit=1)
        except ValueError as error:
            if "not found" not in str(error):
                raise
            continue  # gone meanwhile
        if found:
            yield file, found[0]


if __name__ == "__main__":
    main()
