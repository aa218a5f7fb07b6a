"""The console as an installed program: its manifest, and the worker that keeps pages for reading offline."""

from starlette.requests import Request
from starlette.responses import FileResponse, Response

from mirrord.web.own_files.assets import STATIC_DIRECTORY, digest_of_assets
from mirrord.web.request_context import json_response, visit_of

_WORKER = STATIC_DIRECTORY / "offline" / "worker.js"


async def serve_worker(request: Request) -> Response:
    """GET worker.js: served here, because a worker answers only for addresses below its own."""
    await visit_of(request)
    return FileResponse(_WORKER, media_type="text/javascript", headers={"Cache-Control": "no-cache"})


async def show_manifest(request: Request) -> Response:
    """GET manifest.webmanifest: name and sign of the console of one tenant."""
    visit = await visit_of(request)
    home = f"/t/{visit.name}/"
    icon = {"src": f"/static/{digest_of_assets()}/icon.svg", "sizes": "any", "type": "image/svg+xml", "purpose": "any"}
    facts = {
        "name": f"{visit.name} · mirrord",
        "short_name": visit.name,
        "id": home,
        "start_url": home,
        "scope": home,
        "display": "standalone",
        "background_color": "#ffffff",
        "theme_color": "#f6f7f9",
        "icons": [icon],
    }
    response = json_response(facts)
    response.headers["Content-Type"] = "application/manifest+json"
    return response
