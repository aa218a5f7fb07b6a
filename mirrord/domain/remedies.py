"""The remedy for each kind of problem, in one line; docs/operations.md explains more."""

from collections.abc import Mapping
from types import MappingProxyType

REMEDIES: Mapping[str, str] = MappingProxyType(
    {
        "approval": "Make a new request; the first version counts.",
        "blob": "Let the app insert the bytes again.",
        "damaged": "Save it as UTF-8, below 50 MB, or ignore it in .mirrorignore.",
        "disk": "Free some space.",
        "event": "Mend or remove the line; nothing is lost.",
        "front-matter": "Mend the YAML at the top of the page.",
        "in-the-way": "Move the obstacle away, or give the row another name.",
        "internal": "It is tried again every minute; report what the log says.",
        "livelock": "Stop the program that reverts the text, then save a new text, or run `mirrord check --fix`.",
        "name": "Rename the file, if other systems mirror it.",
        "record": "Mend the YAML or JSON.",
        "refused": "Put a regular file with a valid name there, move it away, or unmount the file system there.",
        "render": "Write `markdown` instead, or revert the change.",
        "root": "Put the right tree back, or remove PAUSE; `mirrord adopt` takes another tree.",
        "twin": "Rename it if you do not want the number.",
        "unreadable": "Let the user that runs mirrord read it.",
        "unwritable": "Let the user that runs mirrord write it; it is tried again.",
    }
)
