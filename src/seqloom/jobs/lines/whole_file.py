"""A file of answers that is written at once: never over another, and not twice."""

from collections.abc import Callable
from pathlib import Path

from seqloom.settings import UserError
from seqloom.store.atomic import readable, write_text


def write_whole(path: Path, text: str, force: bool, note: Callable[[str], None]) -> bool:
    """Whether it was written; a file that holds just this is done already."""
    if not path.exists() or force:
        write_text(path, text)
        return True
    with readable(path):
        same = path.is_file() and path.read_bytes() == text.encode()
    if not same:
        raise UserError(
            f"{path}: is there already, and holds something else; name another --out, or write over it with --force"
        )
    note(f"{path}: already done")
    return False
