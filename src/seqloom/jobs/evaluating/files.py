"""Hypotheses of any systems, and references: plain files, a line an example."""

from collections.abc import Sequence

from seqloom.data.reading.faults import Broken, DataError
from seqloom.data.reading.lines import Lines
from seqloom.jobs.evaluating.evaluated import Evaluated
from seqloom.jobs.evaluating.system_name import name_systems
from seqloom.settings import UserError
from seqloom.settings.words import counted

CHUNK = 4096


def evaluated_files(
    hypotheses: Sequence[str], references: Sequence[str], sources: str | None = None, history: str | None = None
) -> tuple[Evaluated, Sequence[str]]:
    """Line n of every file belongs to line n of the others. The second: the lines of the history, if there is one.

    hypotheses: files, or NAME=FILE.
    """
    if not references:
        raise UserError("--hypotheses needs --references FILE…: what should have been said, line by line")
    if not hypotheses:
        raise UserError("--references needs --hypotheses FILE…: what the systems said, line by line")
    systems, hypotheses = name_systems(hypotheses, "file")
    names = [*references, *hypotheses, *(name for name in (sources, history) if name is not None)]
    read = {name: lines_of(name) for name in names}
    _refuse_unequal(names, read)
    what = Evaluated(
        systems=systems,
        answers=tuple(read[name] for name in hypotheses),
        references=tuple(read[name] for name in references),
        sources=None if sources is None else read[sources],
        files=(*hypotheses, *references),
    )
    return what, () if history is None else read[history]


def lines_of(name: str) -> list[str]:
    """All lines; an empty one is an empty answer."""
    found: list[str] = []
    with Lines(name) as lines:
        while some := lines.take(CHUNK):
            for line in some:
                if isinstance(line, Broken):
                    raise DataError(f"{lines.name}:{len(found) + 1}: {line.what}; {line.fix}")
                found.append(line)
    if not found:
        raise DataError(f"{name}: empty; is it the right file?")
    return found


def _refuse_unequal(names: Sequence[str], read: dict[str, list[str]]) -> None:
    first = names[0]
    wrong = [name for name in names if len(read[name]) != len(read[first])]
    if wrong:
        counts = ", ".join(f"{name} has {len(read[name]):,}" for name in dict.fromkeys(wrong))
        raise UserError(
            f"{first} has {counted(len(read[first]), 'line')}, but {counts}; line n of each file belongs to line n"
        )
