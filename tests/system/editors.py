"""How editors save."""

from pathlib import Path


def save(path: Path, text: str | bytes) -> None:
    """Save as careful editors do: a new file, renamed over the old one. Directories are made as needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.saving")
    fresh.write_bytes(text.encode() if isinstance(text, str) else text)
    fresh.replace(path)


def save_in_place(path: Path, text: str) -> None:
    """Save as simple editors do: truncate, then write."""
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(text)
