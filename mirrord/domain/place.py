"""
Places below a parent: portable names, names that read as equal, sort keys, positions, and the names of records.

Case is folded by a fixed table, so that every version of Python and `mirrord.name_key()` in SQL, generated from it,
always agree.
"""

import hashlib
import re
import unicodedata
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain, count

# first-last/step±distance: every step-th code point from first to last folds to itself ± distance
_RUNS = """
41-5A/1+32 B5-B5/1+775 C0-D6/1+32 D8-DE/1+32 100-12E/2+1 132-136/2+1 139-147/2+1 14A-176/2+1
178-178/1-121 179-17D/2+1 17F-17F/1-268 181-181/1+210 182-184/2+1 186-186/1+206 187-187/1+1
189-18A/1+205 18B-18B/1+1 18E-18E/1+79 18F-18F/1+202 190-190/1+203 191-191/1+1 193-193/1+205
194-194/1+207 196-196/1+211 197-197/1+209 198-198/1+1 19C-19C/1+211 19D-19D/1+213 19F-19F/1+214
1A0-1A4/2+1 1A6-1A6/1+218 1A7-1A7/1+1 1A9-1A9/1+218 1AC-1AC/1+1 1AE-1AE/1+218 1AF-1AF/1+1 1B1-1B2/1+217
1B3-1B5/2+1 1B7-1B7/1+219 1B8-1B8/1+1 1BC-1BC/1+1 1C4-1C4/1+2 1C5-1C5/1+1 1C7-1C7/1+2 1C8-1C8/1+1
1CA-1CA/1+2 1CB-1DB/2+1 1DE-1EE/2+1 1F1-1F1/1+2 1F2-1F4/2+1 1F6-1F6/1-97 1F7-1F7/1-56 1F8-21E/2+1
220-220/1-130 222-232/2+1 23A-23A/1+10795 23B-23B/1+1 23D-23D/1-163 23E-23E/1+10792 241-241/1+1
243-243/1-195 244-244/1+69 245-245/1+71 246-24E/2+1 345-345/1+116 370-372/2+1 376-376/1+1 37F-37F/1+116
386-386/1+38 388-38A/1+37 38C-38C/1+64 38E-38F/1+63 391-3A1/1+32 3A3-3AB/1+32 3C2-3C2/1+1 3CF-3CF/1+8
3D0-3D0/1-30 3D1-3D1/1-25 3D5-3D5/1-15 3D6-3D6/1-22 3D8-3EE/2+1 3F0-3F0/1-54 3F1-3F1/1-48 3F4-3F4/1-60
3F5-3F5/1-64 3F7-3F7/1+1 3F9-3F9/1-7 3FA-3FA/1+1 3FD-3FF/1-130 400-40F/1+80 410-42F/1+32 460-480/2+1
48A-4BE/2+1 4C0-4C0/1+15 4C1-4CD/2+1 4D0-52E/2+1 531-556/1+48 10A0-10C5/1+7264 10C7-10C7/1+7264
10CD-10CD/1+7264 13F8-13FD/1-8 1C80-1C80/1-6222 1C81-1C81/1-6221 1C82-1C82/1-6212 1C83-1C84/1-6210
1C85-1C85/1-6211 1C86-1C86/1-6204 1C87-1C87/1-6180 1C88-1C88/1+35267 1C90-1CBA/1-3008 1CBD-1CBF/1-3008
1E00-1E94/2+1 1E9B-1E9B/1-58 1E9E-1E9E/1-7615 1EA0-1EFE/2+1 1F08-1F0F/1-8 1F18-1F1D/1-8 1F28-1F2F/1-8
1F38-1F3F/1-8 1F48-1F4D/1-8 1F59-1F5F/2-8 1F68-1F6F/1-8 1F88-1F8F/1-8 1F98-1F9F/1-8 1FA8-1FAF/1-8
1FB8-1FB9/1-8 1FBA-1FBB/1-74 1FBC-1FBC/1-9 1FBE-1FBE/1-7173 1FC8-1FCB/1-86 1FCC-1FCC/1-9 1FD8-1FD9/1-8
1FDA-1FDB/1-100 1FE8-1FE9/1-8 1FEA-1FEB/1-112 1FEC-1FEC/1-7 1FF8-1FF9/1-128 1FFA-1FFB/1-126
1FFC-1FFC/1-9 2126-2126/1-7517 212A-212A/1-8383 212B-212B/1-8262 2132-2132/1+28 2160-216F/1+16
2183-2183/1+1 24B6-24CF/1+26 2C00-2C2F/1+48 2C60-2C60/1+1 2C62-2C62/1-10743 2C63-2C63/1-3814
2C64-2C64/1-10727 2C67-2C6B/2+1 2C6D-2C6D/1-10780 2C6E-2C6E/1-10749 2C6F-2C6F/1-10783 2C70-2C70/1-10782
2C72-2C72/1+1 2C75-2C75/1+1 2C7E-2C7F/1-10815 2C80-2CE2/2+1 2CEB-2CED/2+1 2CF2-2CF2/1+1 A640-A66C/2+1
A680-A69A/2+1 A722-A72E/2+1 A732-A76E/2+1 A779-A77B/2+1 A77D-A77D/1-35332 A77E-A786/2+1 A78B-A78B/1+1
A78D-A78D/1-42280 A790-A792/2+1 A796-A7A8/2+1 A7AA-A7AA/1-42308 A7AB-A7AB/1-42319 A7AC-A7AC/1-42315
A7AD-A7AD/1-42305 A7AE-A7AE/1-42308 A7B0-A7B0/1-42258 A7B1-A7B1/1-42282 A7B2-A7B2/1-42261
A7B3-A7B3/1+928 A7B4-A7C2/2+1 A7C4-A7C4/1-48 A7C5-A7C5/1-42307 A7C6-A7C6/1-35384 A7C7-A7C9/2+1
A7D0-A7D0/1+1 A7D6-A7D8/2+1 A7F5-A7F5/1+1 AB70-ABBF/1-38864 FF21-FF3A/1+32 10400-10427/1+40
104B0-104D3/1+40 10570-1057A/1+39 1057C-1058A/1+39 1058C-10592/1+39 10594-10595/1+39 10C80-10CB2/1+64
118A0-118BF/1+32 16E40-16E5F/1+32 1E900-1E921/1+34
"""


def _read_runs(runs: str) -> dict[int, int]:
    table: dict[int, int] = {}
    for first, last, step, distance in re.findall(r"(\w+)-(\w+)/(\d)([+-]\d+)", runs):
        for code in range(int(first, 16), int(last, 16) + 1, int(step)):
            table[code] = code + int(distance)
    return table


FOLDING = _read_runs(_RUNS)

MAX_NAME_BYTES = 200  # of UTF-8, for generated names: room for ` (2)` and `.md` below the 255 of file systems
INDEX = "_index"
ASSETS = "assets"
BESIDE_PREFIX = "./"  # prefix of the name of an attachment beside the pages instead of below `assets`
VAULT_SETTING = ".obsidian"  # as a pattern of attachments: the directory in Obsidian's own setting
DEFAULT_ATTACHMENTS = (f"{ASSETS}/", VAULT_SETTING)  # the default patterns of attachments
RECORDS = ".records"

_FORBIDDEN = re.compile(r'[/\\:*?"<>|\x00-\x1f\x7f-\x9f]')
_DIRECTIONS = re.compile("[\u202a-\u202e\u2066-\u2069]")  # embeddings, overrides and isolates
_BLANKS = re.compile(r"\s+")
_DASHES = re.compile(r"-{2,}")
_WINDOWS_DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?", re.IGNORECASE)


def name_key(name: str) -> str:
    """The key of a name; readers see names with equal keys as the same. NFC, then simple case folding."""
    return name.lower() if name.isascii() else unicodedata.normalize("NFC", name).translate(FOLDING)


_NUMBER = re.compile("0*([0-9]+)")
_NUMBER_DIGITS = 12  # of a number that is sorted by its value; longer ones are sorted as text


def natural_key(name: str) -> str:
    """The key of a name in lists for people: that of name_key, with numbers by their value (2 before 10)."""
    return _NUMBER.sub(lambda match: match[1].zfill(_NUMBER_DIGITS), name_key(name))


def is_reserved(name: str) -> bool:
    """Whether *name* is reserved in the tree: dot-names, `assets`, `_index`."""
    return name.startswith(".") or name_key(name) in (ASSETS, INDEX)


def remove_directions(text: str) -> str:
    """*text* without the characters that change its direction: `gnp.exe` reads as `exe.png` behind one of them."""
    return _DIRECTIONS.sub("", text)


def clean_name(name: str, fallback: str) -> str:
    """
    A valid file name, made from a title or from a name that an app requested.

    *fallback* is used if no character remains, as `Untitled-{fallback}`.
    """
    text = unicodedata.normalize("NFC", remove_directions(name)).encode("utf-8", "replace").decode("utf-8")
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


def numbered_names(name: str, add_number: Callable[[str, int], str] = numbered_name) -> Iterator[str]:
    """*name*, then *name* with the numbers 2 and up."""
    return chain([name], (add_number(name, number) for number in count(2)))


def unused_name(name: str, used_keys: Container[str]) -> str:
    """The first of *name* and its numbered names whose key is not among *used_keys*."""
    return next(candidate for candidate in numbered_names(name) if name_key(candidate) not in used_keys)


def find_portability_fault(name: str) -> str | None:
    """Why another system cannot hold a file of this *name*, as half a sentence; None if all can."""
    if "\n" in name or "\r" in name:
        return "contains a line break"
    if match := _FORBIDDEN.search(name):
        return f"contains {match.group()!r}, which Windows refuses"
    if _DIRECTIONS.search(name):
        return "contains a character that changes the direction of writing, so that it reads as another name"
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


_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"  # in the order of their bytes


def position_between(low: str | None, high: str | None) -> str | None:
    """
    A position after *low* and before *high*, compared byte by byte; None for one of them: no limit on that side.

    None: nothing fits between, because the positions are of another kind, or equal.
    """
    low = low or ""
    prefix = ""
    for place in range(len(low) + (len(high) if high is not None else 0) + 1):
        low_digit = _DIGITS.find(low[place]) if place < len(low) else 0
        if high is not None and place >= len(high):
            return None
        high_digit = _DIGITS.find(high[place]) if high is not None else len(_DIGITS)
        if low_digit < 0 or high_digit < 0 or low_digit > high_digit:
            return None
        if (middle := (low_digit + high_digit) // 2) > low_digit:
            return prefix + _DIGITS[middle]
        prefix += _DIGITS[low_digit]
        if high_digit > low_digit:
            high = None  # the prefix is already lower than that of *high*
    return None


class RecordFormat(StrEnum):
    """The format of a record's file, by its ending."""

    YAML = ".yaml"
    JSON = ".json"


@dataclass(frozen=True, slots=True)
class RecordSort:
    """
    A kind of records.

    kind: as in rows. directory: of its files, below `.records`. name_rule: a description of their names, for people.
    """

    kind: str
    directory: str
    form: RecordFormat
    key: re.Pattern[str]
    name_rule: str


_RECORD_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,28}[A-Za-z0-9])?")
_RECORD_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_RECORD_NAME_RULE = "1 to 30 letters, digits, `-` and `_`, neither of them at an end"
RECORD_SORTS = (
    RecordSort("category", "categories", RecordFormat.YAML, _RECORD_NAME, _RECORD_NAME_RULE),
    RecordSort("collection", "collections", RecordFormat.YAML, _RECORD_NAME, _RECORD_NAME_RULE),
    RecordSort("segment", "segments", RecordFormat.JSON, _RECORD_UUID, "the id of a page, in small letters"),
)
_RECORD_SORT_BY_KIND = {sort.kind: sort for sort in RECORD_SORTS}
_RECORD_SORT_BY_DIRECTORY = {f"{RECORDS}/{sort.directory}": sort for sort in RECORD_SORTS}
RECORD_DIRECTORIES = frozenset(_RECORD_SORT_BY_DIRECTORY)  # of all records, as paths in a tree


def record_sort_of(name: str) -> RecordSort:
    """The sort of the record with the place *name*: `category/reading` is the category `reading`."""
    return _RECORD_SORT_BY_KIND[name.partition("/")[0]]


def record_directory(kind: str) -> str:
    """The directory of the files of all records of a kind, as rows call it."""
    return f"{RECORDS}/{_RECORD_SORT_BY_KIND[kind].directory}"


def record_path(name: str) -> str:
    """The path of the file of the record with the place *name*."""
    sort, key = record_sort_of(name), name.partition("/")[2]
    return f"{record_directory(sort.kind)}/{key}{sort.form}"


def name_of_record(path: str) -> str | None:
    """The place name of the record with the file *path*; None if no record can be there."""
    directory, _, file = path.rpartition("/")
    sort = _RECORD_SORT_BY_DIRECTORY.get(directory)
    if sort is None or not file.endswith(sort.form):
        return None
    key = file.removesuffix(sort.form)
    return f"{sort.kind}/{key}" if sort.key.fullmatch(key) else None


def explain_no_record(path: str) -> str:
    """Why the file at *path*, in a directory of records, is no record: the end of a sentence that begins with it."""
    sort = _RECORD_SORT_BY_DIRECTORY[path.rpartition("/")[0]]
    return f"is not synced: here files are called NAME{sort.form}, and NAME is {sort.name_rule}"
