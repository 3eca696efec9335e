"""A demo as files that people can look at, and train on by hand."""

import os
from pathlib import Path
from tempfile import NamedTemporaryFile

from seqloom.jobs.demos.example import Demo, Example
from seqloom.settings import UserError

COLUMNS = ("source", "target", "slice")


def write(demo: Demo, folder: Path) -> dict[str, Path]:
    """Write `train.tsv`, `valid.tsv` and `test.tsv`; each appears whole or not at all. Returns where they are."""
    splits = {"train": demo.train, "valid": demo.valid, "test": demo.test}
    tables = {name: _table(examples) for name, examples in splits.items()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return {name: _replace(folder / f"{name}.tsv", text) for name, text in tables.items()}
    except OSError as error:
        raise UserError(f"{folder}: the demo's data cannot be written here: {error.strerror}") from None


def _table(examples: list[Example]) -> str:
    lines = ["\t".join(COLUMNS)]
    for example in examples:
        fields = (example.source, example.target, example.slice)
        if any(sign in field for field in fields for sign in "\t\n\r"):
            raise ValueError(f"a tab or a line break in {fields!r}: it would break the table")
        lines.append("\t".join(fields))
    return "\n".join(lines) + "\n"


def _replace(path: Path, text: str) -> Path:
    with NamedTemporaryFile(
        "w", encoding="utf-8", newline="\n", dir=path.parent, prefix=f".{path.name}.", delete=False
    ) as file:
        try:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
            Path(file.name).replace(path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise
    return path
