"""
The process that searches files (`python -m`): a request and an answer per line, as JSON.

The library holds the interpreter's lock during a search, so it must not run in a process with other threads.
"""

import json
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

from pyripgrep import Grep

_MAX_PREPARE_SECONDS = 0.2  # of the processor: a pattern is prepared again for each file whose lines are shown


def main() -> None:
    """Answer until the input ends. The argument is the number of a descriptor of the searched directory."""
    os.fchdir(int(sys.argv[1]))  # with a path through /proc the library is a sixth slower
    grep = Grep()
    for line in sys.stdin.buffer:
        sys.stdout.buffer.write(json.dumps(answer(grep, json.loads(line))).encode() + b"\n")
        sys.stdout.buffer.flush()


def answer(grep: Grep, request: dict[str, Any]) -> dict[str, Any]:
    """
    The answer to a request.

    {pattern, limit or null} → {found: [path of a matching file]}, in no order.
    {pattern, files: [path]} → {found: [[path, `path:number:line`]]}, the first matching line of each matching file.
    Paths begin with `./`.
    An invalid pattern, or one that takes too long to prepare → {error}.
    """
    try:
        if "files" in request:
            return {"found": list(_first_lines(grep, request["pattern"], request["files"]))}
        _check_size(grep, request["pattern"])
        paths = grep.search(request["pattern"], path=".", output_mode="files_with_matches", head_limit=request["limit"])
        return {"found": paths}
    except ValueError as error:
        return {"error": str(error)}


def _check_size(grep: Grep, pattern: str) -> None:
    start = time.process_time()
    grep.search(pattern, path=os.devnull, output_mode="files_with_matches")
    if time.process_time() - start > _MAX_PREPARE_SECONDS:
        raise ValueError("it is too large: repeat less, or narrower sets of characters than \\w or \\p{L}")


def _first_lines(grep: Grep, pattern: str, files: list[str]) -> Iterator[tuple[str, str]]:
    for file in files:
        try:
            lines = grep.search(pattern, path=file, output_mode="content", n=True, head_limit=1)
        except ValueError as error:
            if "not found" not in str(error):
                raise
            continue  # removed meanwhile
        if lines:
            yield file, lines[0]


if __name__ == "__main__":
    main()
