"""`seqloom look`: which model, which inputs, which files."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import Any

from seqloom.jobs import lecture
from seqloom.jobs.look import kind_of
from seqloom.jobs.looking.looked import Looked
from seqloom.jobs.looking.music import music_input
from seqloom.jobs.looking.progress import examples
from seqloom.jobs.looking.table import table_input
from seqloom.jobs.model import Model, load
from seqloom.settings import UserError
from seqloom.settings.words import show
from seqloom.tasks.music import MusicTask

USUAL = Path("look.html")
PAGE, PICTURE, PIXELS = (".html", ".htm"), (".svg",), (".png",)


@dataclass(frozen=True)
class LookCommand:
    """out: None: look.html, unless only a heat map is asked for."""

    run: str
    texts: tuple[str, ...]
    target: str | None = None
    out: Path | None = None
    svg: Path | None = None
    png: Path | None = None
    layer: str | None = None
    head: int | None = None
    """from 1 on, as the page counts them"""
    font: Path | None = None
    beam: int | None = None
    changes: tuple[str, ...] = ()
    force: bool = False


def look(command: LookCommand, device: str = "auto", note: Callable[[str], None] = lambda text: None) -> Iterator[Path]:
    """Each file that was written. All names are looked at before the model is. note: is told what is shown, and why."""
    files = list(_files(command))
    model = _opened(command.run, device)
    looked = model.look(
        _inputs(command, model, note), target=command.target, beam=command.beam, changes=command.changes
    )
    head = None if command.head is None else _head(looked, command.layer, command.head)
    for file in files:
        page = file.suffix.lower() in PAGE
        yield looked.save(file) if page else looked.save(file, command.layer, head, command.font)


def _files(command: LookCommand) -> Iterator[Path]:
    drawn = command.svg is not None or command.png is not None
    if not drawn and (command.layer is not None or command.head is not None):
        raise UserError("--layer and --head: are of the heat map; name its file: --svg attention.svg")
    if command.font is not None and command.png is None:
        raise UserError("--font: is of a PNG; name its file: --png attention.png")
    out = command.out if command.out is not None or drawn else USUAL if command.force else free(USUAL)
    for option, file, endings in ("-o", out, PAGE), ("--svg", command.svg, PICTURE), ("--png", command.png, PIXELS):
        if file is None:
            continue
        if file.suffix.lower() not in endings:
            other = {".svg": "; a heat map: --svg FILE", ".png": "; a heat map: --png FILE"}.get(
                file.suffix.lower(), ""
            )
            raise UserError(f"{option} {file}: should end in {endings[0]}{other if option == '-o' else ''}")
        if file.is_dir() or not file.parent.is_dir():
            raise UserError(f"{option} {file}: {file.parent} is no folder that is there")
        if file.exists() and not command.force:
            raise UserError(f"{option} {file}: is there already; name another file, or write over it with --force")
        yield file


def free(file: Path) -> Path:
    """The name itself, or with the first number that is not taken: look.html, look-2.html, …"""
    names = (file.with_stem(f"{file.stem}-{number}") for number in count(2))
    return next(one for one in chain([file], names) if not one.exists())


def _head(looked: Looked, layer: str | None, head: int) -> int:
    heads = looked.heads(layer)
    if head > heads:
        raise UserError(f"--head {head}: that layer has {heads}, 1 to {heads}")
    return head - 1


def _opened(run: str, device: str) -> Model:
    return lecture.lecture() if run == lecture.NAME and not Path(run).exists() else load(run, device)


def _inputs(command: LookCommand, model: Model, note: Callable[[str], None]) -> list[Any]:
    if command.texts:
        return [_input(command.run, model, text, note) for text in command.texts]
    folder = model.opened[0].run
    kept = [lecture.pairs()[0][0]] if folder.path == lecture.FOLDER else examples(folder)
    if not kept:
        raise UserError(f'{command.run}: what is it to be asked? seqloom look {command.run} "some text"')
    whose = "of the lecture" if folder.path == lecture.FOLDER else "of the validation"
    note(f"no TEXT is given; shows an example {whose}: {_shown(kept[0])}")
    return kept[:1]


def _input(run: str, model: Model, text: str, note: Callable[[str], None]) -> Any:
    """A file's name is never what is asked, but for a node, which may be called so."""
    kind = kind_of(model)
    if kind == "forecast":
        return table_input(model, text, note) if _is_file(text) else _table(text)
    if kind not in ("pairs", "prompt", "text", "words"):
        return _value(text)
    if isinstance(model.task, MusicTask) and _is_file(text):
        return music_input(model.task, text, note)
    if _is_file(text):
        raise UserError(
            f'{text}: is a file, and look takes a text: quote one line of it, seqloom look {run} "one line"; '
            f"the whole file: seqloom predict {run} {text}"
        )
    return text


def _table(text: str) -> Any:
    given = _value(text)
    if isinstance(given, str) and "\n" not in text:  # a table as text has a row behind its names
        raise UserError(f"{text}: there is no such file; name one, or give numbers as JSON")
    return given


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # too long for a name
        return False


def _shown(given: Any) -> str:
    """In a few words, as an input may be a long series."""
    if isinstance(given, dict):
        times = given.get("times") or [""]
        of = f" of {given['series']!r}" if given.get("series") else ""
        return f"{len(times)} steps{of}, {times[0]} to {times[-1]}"
    return show(given)


def _value(text: str) -> Any:
    """Numbers as JSON; else as it is: the name of a node."""
    try:
        return json.loads(text)
    except ValueError:
        return text
