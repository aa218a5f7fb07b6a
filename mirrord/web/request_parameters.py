"""Parameters of queries in addresses, within their limits."""

from starlette.requests import Request

MAX_QUERY_CHARACTERS = 200  # of a query


def query_text(request: Request, name: str) -> str:
    """A parameter without NUL, which Postgres cannot store."""
    return request.query_params.get(name, "")[:MAX_QUERY_CHARACTERS].replace("\0", "").strip()


def start_of(request: Request) -> int:
    """The number of the first entry that is asked for."""
    start = request.query_params.get("start", "0")
    return int(start) if start.isascii() and start.isdigit() and len(start) < 10 else 0
