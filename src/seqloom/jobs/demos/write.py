"""A demo as files that people can look at, and train on by hand."""

import os
from pathlib import Path
from tempfile import NamedTemporaryFile

from seqloom.jobs.demos.example import Demo, Example
from seqloom.settings import UserError

COLUMNS = ("source", "target", "slice")
ALSO, JOINT = "also", " | "  # one more column, where some sources have several right answers


def write(demo: Demo, folder: Path) -> dict[str, Path]:
    """Write `train.tsv`, `valid.tsv` and `test.tsv`; each appears whole or not at all. Returns where they are."""
    splits = {"train": demo.train, "valid": demo.valid, "test": demo.test}
    several = any(example.also for examples in splits.values() for example in examples)
    tables = {name: _table(examples, several) for name, examples in splits.items()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return {name: _replace(folder / f"{name}.tsv", text) for name, text in tables.items()}
    except OSError as error:
        raise UserError(f"{folder}: the demo's data cannot be written here: {error.strerror}") from None


def read(file: Path) -> list[Example]:
    """The examples of a table that `write` wrote."""
    try:
        lines = file.read_text(encoding="utf-8").split("\n")[1:-1]
        return [_example(*line.split("\t")) for line in lines]
    except OSError as error:
        raise UserError(f"{file}: cannot be read: {error.strerror}; --force makes the demo's data anew") from None
    except (TypeError, UnicodeDecodeError):
        raise UserError(f"{file}: is not the table that the demo wrote; --force makes its data anew") from None


def _example(source: str, target: str, slice: str, also: str = "") -> Example:
    return Example(source, target, slice, tuple(also.split(JOINT)) if also else ())


def _table(examples: list[Example], several: bool) -> str:
    lines = ["\t".join((*COLUMNS, ALSO) if several else COLUMNS)]
    for example in examples:
        fields = [example.source, example.target, example.slice]
        fields += [JOINT.join(example.also)] if several else []
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
