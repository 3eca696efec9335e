"""Import only from a lower rank, never sideways: reads every import under src/seqloom.

As a program (`python tests/arrows.py [PACKAGE]`) it prints each violation as file:line, and fails if there is one.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "seqloom"
RANKS = [
    ("settings",),
    ("text", "layers", "music"),
    ("data", "models"),
    ("store", "tasks", "generation", "inspect"),
    ("training", "evaluation", "export"),
    ("jobs",),
    ("serving",),
    ("cli",),
]
RANK = {room: rank for rank, rooms in enumerate(RANKS) for room in rooms}


def violations(package: Path = SOURCE) -> list[str]:
    """Every import against the rules, as `file:line: what`. What stands for the whole package may import anything."""
    whole = package / "__init__.py", package / "__main__.py"
    files = sorted(file for file in package.rglob("*.py") if file not in whole)
    return [f"{_shown(file)}:{line}: {what}" for file in files for line, what in _violations(file, package)]


def _violations(file: Path, package: Path) -> Iterator[tuple[int, str]]:
    inside = file.relative_to(package)
    room = inside.parts[0] if len(inside.parts) > 1 else inside.stem
    if room not in RANK or len(inside.parts) == 1:
        yield 1, f"{inside} is in no room; the rooms are {', '.join(RANK)}"
        return
    for line, module in _imports(file, package):
        name, _, below = module.partition(".")
        other = below.partition(".")[0]
        if name != package.name or other in (room, "__version__"):
            continue
        if other not in RANK:
            yield line, f"{room} imports {module}, which is in no room"
        elif RANK[other] >= RANK[room]:
            yield line, f"{room} (rank {RANK[room]}) imports {other} (rank {RANK[other]})"


def _imports(file: Path, package: Path) -> Iterator[tuple[int, str]]:
    """Every module that a file imports, wherever in it, with the line."""
    here = (package.name, *file.relative_to(package).parts[:-1])
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(here[: len(here) - node.level + 1]) if node.level else ""
            module = ".".join(filter(None, [base, node.module]))
            # `from seqloom import layers` names a room; below the package, the module names it already.
            full = [f"{module}.{alias.name}" for alias in node.names] if module == package.name else [module]
            yield from ((node.lineno, name) for name in full)


def _shown(file: Path) -> str:
    return str(file.relative_to(Path.cwd())) if file.is_relative_to(Path.cwd()) else str(file)


if __name__ == "__main__":
    found = violations(*map(Path, sys.argv[1:]))
    sys.stdout.writelines(f"{violation}\n" for violation in found)
    sys.exit(bool(found))
