"""`seqloom predict` of a forecaster: a file of series in, what comes after its end out."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from seqloom.jobs.answering.forecast_picture import forecast_svg
from seqloom.jobs.answering.forecasting import read_asked
from seqloom.jobs.lines.forecast_lines import Form, forecast_text
from seqloom.jobs.lines.whole_file import write_whole
from seqloom.jobs.model import Model
from seqloom.settings import UserError
from seqloom.settings.words import counted
from seqloom.store.atomic import write_text


@dataclass(frozen=True)
class AskingSeries:
    """file: "-" is standard input. out: None is standard output. unused: options that mean nothing here."""

    file: str
    form: Form = "text"
    out: Path | None = None
    force: bool = False
    picture: Path | None = None
    unused: Sequence[str] = ()


def predict_series(model: Model, asking: AskingSeries, note: Callable[[str], None]) -> int:
    """How many series were forecast."""
    run = str(model.opened[0].run.path)
    forecaster = model.forecaster(run)
    _refuse(asking)
    table, notes = read_asked(forecaster.task, asking.file, run)
    for text in notes:
        note(text)
    forecasts = list(forecaster.after(table))
    text = forecast_text(forecasts, table.columns, asking.form, forecaster.task.settings.decimal)
    if asking.out is None:
        sys.stdout.write(text)
    elif not write_whole(asking.out, text, asking.force, note) and asking.picture is None:
        return len(forecasts)
    if asking.picture is not None:
        write_text(
            asking.picture,
            forecast_svg(forecasts, f"{table.file}: the next {counted(len(forecasts[0].times), 'step')}"),
        )
    first, last = (pick(forecasts, key=lambda one: one.times_H[0]) for pick in (min, max))
    series = f"{counted(len(forecasts), 'series', 'series')}: " if len(forecasts) > 1 else ""
    note(f"{series}{counted(len(first.times), 'step')} from {first.times[0]} to {last.times[-1]}")
    return len(forecasts)


def _refuse(asking: AskingSeries) -> None:
    if asking.unused:
        raise UserError(f"{asking.unused[0]}: a forecast is not searched for or drawn; leave it out")
    for path, option in (asking.out, "--out"), (asking.picture, "--picture"):
        if path is not None and Path(asking.file).exists() and path.exists() and path.samefile(asking.file):
            raise UserError(f"{option} {path}: is what is read; name another file")
    if asking.picture is not None and asking.picture.suffix != ".svg":
        raise UserError(f"--picture {asking.picture}: a picture is SVG; name a file that ends in .svg")
