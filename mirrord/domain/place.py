"""Names: which are portable, which are equal to a reader, and which mirrord makes itself."""

import hashlib
import re
import unicodedata

from mirrord.domain.folding import FOLDING

MAX_NAME_BYTES = 200  # of UTF-8, for names mirrord makes: room for ` (2)` and `.md` below the 255 of file systems
INDEX = "_index"
ASSETS = "assets"
BESIDE = "./"  # how the name of an attachment begins that lies beside the pages, not below `assets`
VAULT_SETTING = ".obsidian"  # among patterns of attachments: where Obsidian's own setting puts them
ATTACHMENTS = (f"{ASSETS}/", VAULT_SETTING)  # which files are attachments where nobody says
RECORDS = ".records"

_FORBIDDEN = re.compile(r'[/\\:*?"<>|\x00-\x1f\x7f-\x9f]')
_BLANKS = re.compile(r"\s+")
_DASHES = re.compile(r"-{2,}")
_WINDOWS_DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?", re.IGNORECASE)


def name_key(name: str) -> str:
    """Names with equal keys are one name to a reader: NFC, then simple case folding."""
    return name.lower() if name.isascii() else unicodedata.normalize("NFC", name).translate(FOLDING)


def is_reserved(name: str) -> bool:
    """Whether the tree keeps *name* for itself: dot-names, `assets`, `_index`."""
    return name.startswith(".") or name_key(name) in (ASSETS, INDEX)


def clean(name: str, fallback: str) -> str:
    """
    A name mirrord may give a file, made from a title or from what an app asked for.

    *fallback* is used when nothing is left, as `Untitled-{fallback}`.
    """
    text = unicodedata.normalize("NFC", name).encode("utf-8", "replace").decode("utf-8")
    text = _DASHES.sub("-", _BLANKS.sub(" ", _FORBIDDEN.sub("-", text)))
    text = text.lstrip(" .-").rstrip(" .")  # a dash that a slash left in front would read as an option
    return _shorten(_unreserved(text)) or f"Untitled-{fallback}"


def clean_attachment(name: str, fallback: str) -> str:
    """The same for an attachment: each part of what follows `assets/`, or the one name of a file beside the pages."""
    if name.startswith(BESIDE):
        return BESIDE + clean(name.removeprefix(BESIDE), fallback)
    return "/".join(clean(part, fallback) for part in name.split("/"))


def numbered(name: str, number: int, ending: str = "") -> str:
    """*name* with the suffix ` (number)` before its *ending*, still within the limit."""
    suffix = f" ({number}){ending}"
    return _cut(name.removesuffix(ending), MAX_NAME_BYTES - len(suffix.encode())) + suffix


def numbered_attachment(name: str, number: int) -> str:
    """An attachment's name with the suffix ` (number)`: `a/b (2).png`."""
    above, slash, last = name.rpartition("/")
    stem, dot, ending = last.rpartition(".")
    return f"{above}{slash}{numbered(last, number, f'{dot}{ending}' if stem and len(ending) < 12 else '')}"


def unportable(name: str) -> str | None:
    """Why some other system could not hold a file of this *name*, as half a sentence; None if all can."""
    if "\n" in name or "\r" in name:
        return "contains a line break"
    if found := _FORBIDDEN.search(name):
        return f"contains {found.group()!r}, which Windows refuses"
    if name != name.strip(" ") or name.endswith("."):
        return "begins with a blank or ends in a blank or a dot, which Windows drops"
    if _WINDOWS_DEVICE.fullmatch(name):
        return "is the name of a device on Windows"
    if name.startswith("-"):
        return "begins with a dash, which commands take for an option"
    if len(name.encode("utf-8", "surrogateescape")) > 240:
        return "is so long that a suffix would not fit"
    return None


def _unreserved(text: str) -> str:
    """Windows takes `con.txt` for the device `con` too, so a device is told apart before the first dot."""
    if _WINDOWS_DEVICE.fullmatch(text):
        stem, dot, rest = text.partition(".")
        return f"{stem}_{dot}{rest}"
    return f"{text}_" if is_reserved(text) else text


def _shorten(text: str) -> str:
    if len(text.encode()) <= MAX_NAME_BYTES:
        return text
    mark = "-" + hashlib.blake2b(text.encode(), digest_size=4).hexdigest()
    return _cut(text, MAX_NAME_BYTES - len(mark)).rstrip(" .-") + mark


def _cut(text: str, size_bytes: int) -> str:
    return text.encode()[:size_bytes].decode("utf-8", "ignore").rstrip(" .")
