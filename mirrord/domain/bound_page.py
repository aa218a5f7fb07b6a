"""The keys of front matter by which a page says that it is the row of an app. Values only."""

from collections.abc import Mapping

BINDING_KEY = "bound_to"  # the name of the binding, if it only reads the app: the page is changed in the app
URL_KEY = "bound_url"  # where the app shows the page


def describe_bound_page(path: str, properties: Mapping[str, object]) -> tuple[str, str] | None:
    """Why the page at *path* is not changed here, and what to do instead; None: it is no page of an app."""
    binding, url = properties.get(BINDING_KEY), properties.get(URL_KEY)
    if not isinstance(binding, str):
        return None
    place = f"in the app: {url}" if isinstance(url, str) else "in the app"
    return f"{path} is a page of an app, which the binding {binding!r} only reads.", f"Change it {place}."
