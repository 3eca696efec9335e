"""Music in, music out: a prompt from a MIDI file, or nothing; the piece that the model makes of it, and a picture."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from seqloom.data.file_format import STDIN, format_by_name
from seqloom.generation.settings import GenerationSettings
from seqloom.jobs.answering.answer import Answer, Question
from seqloom.jobs.answering.music_prompt import last_events, read_prompt
from seqloom.jobs.answering.writing import Prepared
from seqloom.jobs.model import Model
from seqloom.music import Piece, read_events, write_midi
from seqloom.music.roll import piano_roll
from seqloom.settings import UserError
from seqloom.store.atomic import write_bytes, write_text
from seqloom.tasks.music import MusicTask

Note = Callable[[str], None]


@dataclass(frozen=True)
class Composing:
    """What was asked for. file: the prompt, "-" for none. out: where the piece goes; its picture lies beside it."""

    file: str
    out: Path | None
    settings: GenerationSettings
    force: bool = False


def compose(model: Model, asked: Composing, note: Note) -> list[Path]:
    """The MIDI files that were written: one, or as many as were asked for (n_best)."""
    task = model.task
    assert isinstance(task, MusicTask)
    outs = _outs(asked)
    events = task.settings.events
    prompt = [] if asked.file == STDIN else read_prompt(asked.file, events)
    given = read_events(prompt, events)
    answers = _answers(model, task, prompt, asked, note)
    for out, answer in zip(outs, answers, strict=True):
        piece = read_events([*prompt, *answer.text.split()], events)
        if not piece.notes:
            raise UserError(
                "the model wrote no note; train it longer, draw again (--set generation.seed=2), "
                "or ask for more (--set generation.shortest=200)"
            )
        write_bytes(out, write_midi(piece))
        picture = out.with_suffix(".svg")
        write_text(picture, piano_roll(piece, given.seconds(given.end), out.stem))
        note(_told(out, picture, piece, given, answer))
    return outs


def _outs(asked: Composing) -> list[Path]:
    """Where the pieces go, looked at before anything is written."""
    out, count = asked.out, asked.settings.n_best
    if out is None:
        raise UserError("music goes to a file: --out new.mid")
    if format_by_name(out.name) != "midi" or out.suffix.lower() == ".gz":
        raise UserError(f"--out {out}: music is written as MIDI; name a file that ends in .mid")
    if not out.parent.is_dir():
        raise UserError(f"--out {out}: there is no folder {out.parent}; make it first")
    outs = [out] if count == 1 else [out.with_stem(f"{out.stem}-{number}") for number in range(1, count + 1)]
    for one in outs:
        if one.exists() and not asked.force:
            raise UserError(f"{one}: is there already; name another --out, or write over it with --force")
    return outs


def _answers(model: Model, task: MusicTask, prompt: Sequence[str], asked: Composing, note: Note) -> list[Answer]:
    settings, context = asked.settings, task.settings.context
    read = last_events(prompt, context, task.settings.events)
    if len(read) < len(prompt):
        note(f"{asked.file}: of {len(prompt):,} events the model reads the last {len(read):,} (task.context)")
    question = Question(" ".join(read), longest=settings.longest or context)
    prepared = model.prepare(question, 0, settings)
    if len(read) < len(prompt):
        prepared = _unbegun(prepared)
    ((_, answers),) = model.answer([prepared], settings)
    return answers


def _unbegun(prepared: Prepared) -> Prepared:
    """Without the begin mark, which no part behind a piece's first has."""
    assert prepared.item is not None
    return replace(prepared, item=replace(prepared.item, source=prepared.item.source[1:]))


def _told(out: Path, picture: Path, piece: Piece, given: Piece, answer: Answer) -> str:
    before, whole = given.seconds(given.end), piece.seconds(piece.end)
    return "; ".join(_parts(out, picture, len(piece.notes) - len(given.notes), before, whole, answer))


def _parts(out: Path, picture: Path, new: int, before: float, whole: float, answer: Answer) -> Iterator[str]:
    start = f"{before:.1f} s given, " if before else ""
    yield f"{out}: {start}{max(whole - before, 0):.1f} s and {max(new, 0):,} notes new"
    if not answer.tokens:
        yield "the model ended the piece at once (--set generation.shortest=200 makes it go on)"
    elif answer.ended:
        yield "the piece came to its end"
    yield f"picture: {picture}"
