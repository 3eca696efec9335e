"""When a run ends."""

from dataclasses import dataclass

from seqloom.training.place import Place


@dataclass(frozen=True)
class Limits:
    """When a run ends."""

    steps: int | None
    seconds: float | None
    """Of training, validations included."""
    asked: tuple[float | None, ...] = ()
    """What the user said of the end: a run that ended for the same stays ended."""
    flops: float | None = None
    epochs: float | None = None

    def done(self, place: Place, seconds: float, spare: float) -> float:
        """The share that is over; spare: seconds that are kept free at the end.

        What a GPU's steps needed once, to be made ready, is no progress: a warm-up would be over behind it.
        """
        parts = [] if self.steps is None else [place.step / self.steps if self.steps else 1.0]
        if self.seconds is not None:
            end = max(self.seconds - spare, self.seconds / 2)
            parts.append(max(0.0, seconds - place.preparing) / (end - place.preparing) if seconds < end else 1.0)
        if self.flops is not None:
            parts.append(place.flops / self.flops)
        if self.epochs is not None:
            parts.append(place.epochs / self.epochs)
        return min(1.0, max(parts, default=0.0))
