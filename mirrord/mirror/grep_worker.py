"""
The process that searches files: `python -m mirrord.mirror.grep_worker`, a request and an answer a line, as JSON.

The library holds the interpreter's lock as long as it searches, so it must not run where anybody else waits.
"""

import json
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

from pyripgrep import Grep

_LARGE = 0.2  # seconds of the processor to prepare a pattern: it is prepared anew for each file whose lines are shown


def main() -> None:
    """Answer until the other end closes. The argument is the number of a descriptor of what is searched."""
    os.fchdir(int(sys.argv[1]))  # a path through /proc takes the library a sixth longer
    grep = Grep()
    for line in sys.stdin.buffer:
        sys.stdout.buffer.write(json.dumps(answer(grep, json.loads(line))).encode() + b"\n")
        sys.stdout.buffer.flush()


def answer(grep: Grep, request: dict[str, Any]) -> dict[str, Any]:
    """
    What a request asks for.

    {pattern, limit or null} → {found: [path of a file that matches]}, in no order.
    {pattern, files: [path]} → {found: [[path, `path:number:line`]]}, of each that matches the first line that does.
    Paths begin with `./`.
    A pattern that is none, or takes too long to prepare → {error}.
    """
    try:
        if "files" in request:
            return {"found": list(_first_lines(grep, request["pattern"], request["files"]))}
        _check(grep, request["pattern"])
        found = grep.search(request["pattern"], path=".", output_mode="files_with_matches", head_limit=request["limit"])
        return {"found": found}
    except ValueError as error:
        return {"error": str(error)}


def _check(grep: Grep, pattern: str) -> None:
    began = time.process_time()
    grep.search(pattern, path=os.devnull, output_mode="files_with_matches")
    if time.process_time() - began > _LARGE:
        raise ValueError("it is too large: repeat less, or narrower sets of characters than \\w or \\p{L}")


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
