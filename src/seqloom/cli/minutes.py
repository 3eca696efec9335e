"""How long a command may take: an option of several verbs."""

import math

import typer


def finite(minutes: float | None) -> float | None:
    """The bounds of typer let pass what is no number, and no end."""
    if minutes is not None and not math.isfinite(minutes):
        raise typer.BadParameter(f"{minutes} is no number of minutes; give one such as 5")
    return minutes
