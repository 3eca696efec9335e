"""All recipes that come along, with what their models cost.

To count that, torch and every layer have to be loaded, which takes seconds. So it is counted beforehand and kept
beside the recipes: `python -m seqloom.jobs.recipes.listing` writes it anew. A recipe that is not the one that was
counted is counted again when it is listed.
"""

import json
import tomllib
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from seqloom.jobs.recipes import shipped
from seqloom.jobs.table import Table
from seqloom.settings import UserError
from seqloom.training.figures import count

if TYPE_CHECKING:
    from rich.console import Console

COUNTED = "costs.json"
SMALL, DEMO = "-small", "demo-"
LENGTH = 27  # tokens a side: about what sentences of WMT's news have
CHARACTERS, WORDS, LABELS, CHANNELS = 100, 30_000, 10, 10  # where only data would tell
HEAD = ("recipe", "task", "parameters", "FLOPs/token", "source")
NAMES = 2  # columns of words, which begin at the left
BELOW = (
    f"FLOPs/token: of training, for each token that is written (or read, where none is), with {LENGTH} tokens a side;",
    "of language models with a full window.",
    f"~ the data decides: here {CHARACTERS} characters, {WORDS:,} words, {CHANNELS} readings or {LABELS} labels.",
)


@dataclass(frozen=True)
class Listed:
    """sure: the sizes of its vocabularies are known."""

    task: str
    source: str
    parameters: int
    flops: float
    sure: bool

    def cells(self) -> tuple[str, str, str, str]:
        mark = "" if self.sure else "~"
        return self.task, f"{mark}{count(self.parameters)}", f"{mark}{count(self.flops)}", self.source


def groups() -> list[list[tuple[str, ...]]]:
    """Rows: the systems, each with its small sibling behind it; then the demos."""
    files, known = shipped.names(), _counted()
    names = sorted(files, key=_place)
    rows: list[tuple[str, ...]] = [(name, *_cells(name, files[name], known)) for name in names]
    systems = [row for row in rows if not row[0].startswith(DEMO)]
    return [group for group in (systems, [row for row in rows if row[0].startswith(DEMO)]) if group]


def lines() -> Iterator[str]:
    """Plain, for a pipe."""
    parts = groups()
    every = [HEAD, *(row for group in parts for row in group)]
    widths = [max(len(row[at]) for row in every) for at in range(len(HEAD) - 1)]

    def line(row: tuple[str, ...]) -> str:
        cells = (
            text.ljust(width) if at < NAMES else text.rjust(width)
            for at, (text, width) in enumerate(zip(row[:-1], widths, strict=True))
        )
        return "  ".join([*cells, row[-1]]).rstrip()

    yield line(HEAD)
    for number, group in enumerate(parts):
        yield from ["", *map(line, group)] if number else map(line, group)
    yield from ["", *BELOW]


def show(console: "Console") -> None:
    """As a terminal can; a row between the groups is empty."""
    from seqloom.jobs.drawn_table import draw  # only a terminal needs it

    first, *others = groups()
    rows = [*first, *(row for group in others for row in (("",) * len(HEAD), *group))]
    draw(Table("", HEAD, tuple(rows), left=NAMES, sentences=True), console)
    console.print("\n".join(BELOW), markup=False, highlight=False)


def _place(name: str) -> tuple[str, bool]:
    return name.removesuffix(SMALL), name.endswith(SMALL)


def _cells(name: str, file: Path, known: dict[str, tuple[int, Listed]]) -> tuple[str, str, str, str]:
    text = file.read_bytes()
    digest, found = known.get(name, (None, None))
    if found is not None and digest == zlib.crc32(text):
        return found.cells()
    try:
        tomllib.loads(text.decode())
        return _count(file).cells()
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, UserError):
        return "", "", "", f"(broken: `seqloom recipes {name}` says why)"


def _count(file: Path) -> Listed:
    from seqloom.jobs.recipes.cost import listed
    from seqloom.jobs.recipes.recipe import Recipe  # these take seconds
    from seqloom.settings import load

    return listed(load(file, Recipe))


def _counted() -> dict[str, tuple[int, Listed]]:
    """Of each name the checksum of the recipe that was counted, and what it came to."""
    try:
        kept = json.loads((shipped.folder() / COUNTED).read_text(encoding="utf-8"))
        return {name: (one.pop("checksum"), Listed(**one)) for name, one in kept.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def write() -> None:
    """Count all recipes, a line each."""
    parts = []
    for name, file in sorted(shipped.names().items()):
        one = {"checksum": zlib.crc32(file.read_bytes()), **asdict(_count(file))}
        parts.append(f"  {json.dumps(name)}: {json.dumps(one, ensure_ascii=False)}")
    (shipped.folder() / COUNTED).write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    write()
