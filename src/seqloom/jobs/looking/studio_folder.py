"""The studio's own files: the page, its modules and styles. Read once; what asks for one can name no other file."""

from pathlib import Path, PurePosixPath

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".webmanifest": "application/manifest+json",
}
"""What of the folder is part of the page, by its ending; other files are notes to whoever works on it."""
FIRST = "index.html"


def folder() -> Path:
    """Inside an installed package, or at the top of a checkout."""
    package = Path(__file__).parents[2]
    installed = package / "studio"
    return installed if installed.is_dir() else package.parents[1] / "studio"


def files(folder: Path) -> dict[str, bytes]:
    """All that belongs to the page, by path as a browser names it. Links are not followed: they may lead elsewhere."""
    found = sorted(file for file in folder.rglob("*") if file.is_file() and not file.is_symlink())
    names = {PurePosixPath(file.relative_to(folder)): file for file in found if file.suffix in TYPES}
    return {str(name): file.read_bytes() for name, file in names.items() if not _hidden(name)}


def _hidden(name: PurePosixPath) -> bool:
    return any(part.startswith((".", "_")) or part == "node_modules" for part in name.parts)
