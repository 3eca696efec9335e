"""Where each position of a series or a picture comes from."""

from seqloom.jobs.looking.documents import Place
from seqloom.layers.embedding import InputSettings, Patches
from seqloom.layers.images import Images


def reading_places(settings: InputSettings, steps: int, tokens: bool = False) -> tuple[Place, ...]:
    """steps: that are read; tokens: they are numbers written as text, with an end mark behind them."""
    match settings:
        case Patches():
            begins = range(0, steps, settings.every)
            return tuple(Place(f"{begin + 1}–{min(begin + settings.length, steps)}") for begin in begins)
        case Images():
            numbers = max(steps - 1, 0) if tokens else steps * settings.channels
            across = settings.columns // settings.patch
            bands = -(-numbers // (across * settings.numbers))
            return tuple(Place(f"{row + 1},{column + 1}") for row in range(bands) for column in range(across))
        case _:
            return tuple(Place(str(step + 1)) for step in range(steps))
