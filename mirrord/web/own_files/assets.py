"""The console's own files as browsers load them: cached for good under their digest, compressed once, in one script."""

import asyncio
import gzip
import hashlib
import os
import re
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

STATIC_DIRECTORY = Path(__file__).parents[1] / "static"
BUILT_DIRECTORY = STATIC_DIRECTORY / "built"
EDITOR_SCRIPT = BUILT_DIRECTORY / "editor.js"
_CONSOLE_SCRIPT = "console.js"
_MODULES_DIGEST = "console.sha256"  # of the modules that are in the script
_DIGEST = re.compile("[0-9a-f]{16}")
_DIAGRAM_FRAME = "built/diagrams.html"
# The program that draws diagrams has no origin, no network and no window but the console's; the file names its script.
_FRAME_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "sandbox allow-scripts; frame-ancestors 'self'",
    "X-Frame-Options": "SAMEORIGIN",
}
_CACHE_FOREVER = "private, max-age=31536000, immutable"
_COMPRESSED_TYPES = ("text/", "application/javascript", "application/json", "image/svg+xml")
_MIN_COMPRESSED_BYTES = 1000
_MAX_COMPRESSED_FILES = 256  # in memory: a megabyte or two of all files of the console

_Files = tuple[tuple[Path, int, int], ...]  # (path, size, mtime) of each; equal values mean equal contents


class Assets(StaticFiles):
    """
    The console's own files. In URLs with their digest browsers cache them for good, compiled code included; in other
    URLs browsers revalidate them.
    """

    async def get_response(self, path: str, scope: Scope) -> Response:
        """The file, or 304 if it has not changed."""
        prefix, _, name = path.partition(os.sep)
        name = name if _DIGEST.fullmatch(prefix) else path
        response = await super().get_response(name, scope)
        if name == _DIAGRAM_FRAME:
            response.headers.update(_FRAME_HEADERS)
        is_fixed = prefix == digest_of_assets()
        response.headers["Cache-Control"] = _CACHE_FOREVER if is_fixed else "no-cache"
        return await _compressed(response, scope) if is_fixed else response


async def _compressed(response: Response, scope: Scope) -> Response:
    """The same as gzip for clients that accept it. Other encodings and parts of files are not offered."""
    headers = Headers(scope=scope)
    is_text = response.headers.get("content-type", "").startswith(_COMPRESSED_TYPES)
    if not isinstance(response, FileResponse) or response.status_code != 200 or not is_text:
        return response
    response.headers["Vary"] = "Accept-Encoding"
    is_wanted = scope["method"] == "GET" and "range" not in headers
    if not is_wanted or "gzip" not in headers.get("accept-encoding", ""):
        return response
    body = await asyncio.to_thread(_compress, Path(response.path), response.headers["etag"])
    if body is None:
        return response
    compressed = Response(body, headers=_without_length(response.headers))
    compressed.headers["Content-Encoding"] = "gzip"
    return compressed


def _without_length(headers: MutableHeaders) -> dict[str, str]:
    """Without what is true of the file as it is only."""
    return {name: value for name, value in headers.items() if name not in ("content-length", "etag", "accept-ranges")}


@lru_cache(maxsize=_MAX_COMPRESSED_FILES)
def _compress(file: Path, etag: str) -> bytes | None:
    """The bytes of a file as gzip; None: it is too small, or gone. etag: tells its versions apart."""
    try:
        content = file.read_bytes()
    except FileNotFoundError:  # `make web` is running
        return None
    return gzip.compress(content, mtime=0) if len(content) >= _MIN_COMPRESSED_BYTES else None


def digest_of_assets() -> str:
    """A digest of all own files, used as URL prefix so that the files of a page belong together."""
    return _digest_of_files(_files_of(STATIC_DIRECTORY))


def _files_of(directory: Path) -> _Files:
    files = []
    for parent, _, names in os.walk(directory):
        for name in names:
            with suppress(FileNotFoundError):  # `make web` is running
                status = (file := Path(parent, name)).stat()
                files.append((file, status.st_size, status.st_mtime_ns))
    return tuple(sorted(files))


@lru_cache(maxsize=1)
def _digest_of_files(files: _Files) -> str:
    digest = hashlib.blake2b(digest_size=8)
    for file, size, _ in files:
        digest.update(f"{file.relative_to(STATIC_DIRECTORY)} {size}\n".encode())
        with suppress(FileNotFoundError):
            digest.update(file.read_bytes())
    return digest.hexdigest()


def has_console_script() -> bool:
    """Whether all modules of the console are in one built script, as they are now."""
    return _is_script_current(_files_of(STATIC_DIRECTORY))


@lru_cache(maxsize=1)
def _is_script_current(files: _Files) -> bool:
    modules = [file for file, _, _ in files if file.suffix == ".js" and BUILT_DIRECTORY not in file.parents]
    try:
        digest = (BUILT_DIRECTORY / _MODULES_DIGEST).read_text(encoding="ascii")
        return (BUILT_DIRECTORY / _CONSOLE_SCRIPT).is_file() and digest == digest_of_modules(modules)
    except FileNotFoundError:
        return False


def digest_of_modules(modules: list[Path]) -> str:
    """A digest of the console's modules, as `build.js` makes it: of their addresses, sorted, and their contents."""
    digest = hashlib.sha256()
    for address, file in sorted((file.relative_to(STATIC_DIRECTORY).as_posix(), file) for file in modules):
        digest.update(f"{address}\n".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()
