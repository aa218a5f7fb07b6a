"""Names: portable ones, equal ones, and names that mirrord generates."""

import hashlib
import re
import unicodedata

from mirrord.domain.folding import FOLDING

MAX_NAME_BYTES = 200  # of UTF-8, for generated names: room for ` (2)` and `.md` below the 255 of file systems
INDEX = "_index"
ASSETS = "assets"
BESIDE_PREFIX = "./"  # prefix of the name of an attachment beside the pages instead of below `assets`
VAULT_SETTING = ".obsidian"  # as a pattern of attachments: the directory in Obsidian's own setting
DEFAULT_ATTACHMENTS = (f"{ASSETS}/", VAULT_SETTING)  # the default patterns of attachments
RECORDS = ".records"

_FORBIDDEN = re.compile(r'[/\\:*?"<>|\x00-\x1f\x7f-\x9f]')
_BLANKS = re.compile(r"\s+")
_DASHES = re.compile(r"-{2,}")
_WINDOWS_DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?", re.IGNORECASE)


def name_key(name: str) -> str:
    """The key of a name; readers see names with equal keys as the same. NFC, then simple case folding."""
    return name.lower() if name.isascii() else unicodedata.normalize("NFC", name).translate(FOLDING)


def is_reserved(name: str) -> bool:
    """Whether *name* is reserved in the tree: dot-names, `assets`, `_index`."""
    return name.startswith(".") or name_key(name) in (ASSETS, INDEX)


def clean_name(name: str, fallback: str) -> str:
    """
    A valid file name, made from a title or from a name that an app requested.

    *fallback* is used if no character remains, as `Untitled-{fallback}`.
    """
    text = unicodedata.normalize("NFC", name).encode("utf-8", "replace").decode("utf-8")
    text = _DASHES.sub("-", _BLANKS.sub(" ", _FORBIDDEN.sub("-", text)))
    text = text.lstrip(" .-").rstrip(" .")  # a leading dash, such as from a slash, would read as an option
    return _shorten(_avoid_reserved(text)) or f"Untitled-{fallback}"


def clean_attachment(name: str, fallback: str) -> str:
    """The same for an attachment: each part of the path below `assets/`, or the name of a file beside the pages."""
    if name.startswith(BESIDE_PREFIX):
        return BESIDE_PREFIX + clean_name(name.removeprefix(BESIDE_PREFIX), fallback)
    return "/".join(clean_name(part, fallback) for part in name.split("/"))


def numbered_name(name: str, number: int, ending: str = "") -> str:
    """*name* with the suffix ` (number)` before its *ending*, within MAX_NAME_BYTES."""
    suffix = f" ({number}){ending}"
    return _cut(name.removesuffix(ending), MAX_NAME_BYTES - len(suffix.encode())) + suffix


def numbered_attachment(name: str, number: int) -> str:
    """An attachment's name with the suffix ` (number)`: `a/b (2).png`."""
    above, slash, last = name.rpartition("/")
    stem, dot, ending = last.rpartition(".")
    return f"{above}{slash}{numbered_name(last, number, f'{dot}{ending}' if stem and len(ending) < 12 else '')}"


def find_portability_fault(name: str) -> str | None:
    """Why another system cannot hold a file of this *name*, as half a sentence; None if all can."""
    if "\n" in name or "\r" in name:
        return "contains a line break"
    if match := _FORBIDDEN.search(name):
        return f"contains {match.group()!r}, which Windows refuses"
    if name != name.strip(" ") or name.endswith("."):
        return "begins with a blank or ends in a blank or a dot, which Windows drops"
    if _WINDOWS_DEVICE.fullmatch(name):
        return "is the name of a device on Windows"
    if name.startswith("-"):
        return "begins with a dash, which commands take for an option"
    if len(name.encode("utf-8", "surrogateescape")) > 240:
        return "is so long that a suffix would not fit"
    return None


def _avoid_reserved(text: str) -> str:
    """*text* changed if reserved. Windows reads `con.txt` as the device `con`: only the part before a dot counts."""
    if _WINDOWS_DEVICE.fullmatch(text):
        stem, dot, ending = text.partition(".")
        return f"{stem}_{dot}{ending}"
    return f"{text}_" if is_reserved(text) else text


def _shorten(text: str) -> str:
    if len(text.encode()) <= MAX_NAME_BYTES:
        return text
    mark = "-" + hashlib.blake2b(text.encode(), digest_size=4).hexdigest()
    return _cut(text, MAX_NAME_BYTES - len(mark)).rstrip(" .-") + mark


def _cut(text: str, size_bytes: int) -> str:
    return text.encode()[:size_bytes].decode("utf-8", "ignore").rstrip(" .")
