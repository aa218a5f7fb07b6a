"""The remedy for each kind of problem, in one line; docs/operations.md explains more."""

from collections.abc import Mapping
from types import MappingProxyType

REMEDIES: Mapping[str, str] = MappingProxyType(
    {
        "approval": "Make a new request; what was taken in first counts.",
        "blob": "Let the app insert the bytes again.",
        "damaged": "Save it as UTF-8, below 50 MB, or ignore it in .mirrorignore.",
        "disk": "Free some space.",
        "event": "Mend or remove the line; nothing is lost.",
        "front-matter": "Mend the YAML at the top of the page.",
        "in-the-way": "Move what is there away, or give the row another name.",
        "internal": "It is tried again every minute; report what the log says.",
        "livelock": "Stop what changes the text back, then save a new text, or `mirrord check --fix`.",
        "name": "Rename the file, if other systems mirror it.",
        "record": "Mend the YAML or JSON.",
        "refused": "Put a real file of a usable name there, move it away, or unmount what is there.",
        "render": "Write `markdown` instead, or take the change back.",
        "root": "Put the right tree back, or remove PAUSE; `mirrord adopt` takes another tree.",
        "twin": "Rename it, if you mind the number.",
        "unreadable": "Let the user that runs mirrord read it.",
        "unwritable": "Let the user that runs mirrord write it; it is tried again.",
    }
)
