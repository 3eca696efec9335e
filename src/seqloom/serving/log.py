"""Plain lines on standard error. What was asked and answered is nobody's business, and stands in none of them."""

import sys
import time
from collections.abc import Callable

Log = Callable[[str], None]


def log(text: str) -> None:
    """What comes from outside cannot break the line, nor colour the terminal."""
    shown = "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)
    sys.stderr.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {shown}\n")
    sys.stderr.flush()
