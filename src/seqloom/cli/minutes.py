"""How long a command may take: an option of several verbs."""

import math


def finite(minutes: float | None) -> float | None:
    """The bounds of typer let pass what is no number, and no end."""
    if minutes is not None and not math.isfinite(minutes):
        from seqloom.settings import UserError  # here, as help needs none of it

        raise UserError(f"--minutes {minutes}: a number with an end is needed, such as 5")
    return minutes
