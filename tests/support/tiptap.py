"""The real TipTap in a Node process: documents go in, and what an editor makes of them comes back."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE
from typing import cast

from mirrord.markdown.frontmatter.yaml_reader import Json
from mirrord.markdown.schema.document import Document

SOURCE = Path(__file__).parents[2] / "mirrord" / "web" / "client"

Schema = dict[str, dict[str, dict[str, Json]]]


class TipTap:
    """An editor to which documents are given."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def load(self, content: Document, *, typed: str | None = None) -> Document:
        """What the editor holds after loading *content*, and after somebody typed. Fails where TipTap refuses."""
        return cast(Document, self._asked({"content": content, "typed": typed})["content"])

    def save_as_ordinary_app(
        self, content: Document, typed: str | None = None, *, is_checked: bool = False, has_block_images: bool = False
    ) -> Document:
        """
        What an editor with StarterKit, tables, tasks and images saves after it showed *content*.

        is_checked: it fails where *content* does not fit its schema. has_block_images: an image is no part of a text.
        """
        request = {"content": content, "ordinary": True, "typed": typed, "checked": is_checked}
        request["blockImages"] = has_block_images
        return cast(Document, self._asked(request)["content"])

    def paste(self, content: Document) -> Document:
        """What an empty editor holds after *content* was copied in another and pasted."""
        return cast(Document, self._asked({"content": content, "pasted": True})["content"])

    def schema(self) -> Schema:
        """The default of each attribute of each type, under `nodes` and `marks`."""
        return cast(Schema, self._asked({"schema": True}))

    def _asked(self, request: object) -> dict[str, object]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer: dict[str, object] = json.loads(self._process.stdout.readline())
        assert "error" not in answer, f"{answer['error']}: {json.dumps(request)}"
        return answer


@contextmanager
def running(directory: Path) -> Iterator[TipTap]:
    """The editor's process, as long as it is asked."""
    command = ["node", "test/roundtrip.js"]
    with subprocess.Popen(command, cwd=directory, stdin=PIPE, stdout=PIPE, text=True, encoding="utf-8") as process:
        yield TipTap(process)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(timeout=60) == 0
