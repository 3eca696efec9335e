"""A MIDI file as what a model of music is asked: so many of its last events as a page can show."""

from collections.abc import Callable

from seqloom.jobs.answering.music_prompt import last_events, read_prompt
from seqloom.settings import UserError
from seqloom.tasks.music import MusicTask

MOST = 64
"""Events: a page draws each beside each, in every head of every layer."""


def music_input(task: MusicTask, file: str, note: Callable[[str], None]) -> str:
    """note: is told what is left out."""
    events = task.settings.events
    prompt = read_prompt(file, events)
    if not prompt:
        raise UserError(f"{file}: nothing but drums, which the model does not read; take another file")
    read = last_events(prompt, min(MOST, task.settings.context), events)
    if len(read) < len(prompt):
        note(f"{file}: shows the last {len(read):,} of {len(prompt):,} events")
    return " ".join(read)
