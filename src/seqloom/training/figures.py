"""Times, counts and shares as people read them."""

import math


def duration(seconds: float) -> str:
    """`1 h 02 m`, `3 m 20 s`, `12 s`."""
    if not math.isfinite(seconds):
        return "?"
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} m {whole % 60:02} s"
    minutes = round(whole / 60)
    return f"{minutes // 60} h {minutes % 60:02} m"


def count(number: float) -> str:
    """`812`, `4.1k`, `38k`, `1.2M`."""
    if not math.isfinite(number):
        return "?"
    for unit in ("", "k", "M", "G"):
        # what would be rounded up to the next unit is already said in it
        if abs(number) < 999.5 or unit == "G":
            return f"{number:.1f}{unit}" if unit and abs(number) < 9.95 else f"{number:.0f}{unit}"
        number /= 1000
    raise AssertionError


def memory(amount: float) -> str:
    """Bytes as `512 MB`, `1.3 GB`."""
    megabytes = amount / 1e6
    return f"{megabytes:.0f} MB" if megabytes < 999.5 else f"{megabytes / 1000:.1f} GB"


def share(part: float) -> str:
    """`20%`, rounded down: 100% is the whole. What is no number is `?`."""
    return f"{math.floor(part * 100 + 1e-9)}%" if math.isfinite(part) else "?"


def figure(number: float) -> str:
    """A loss or a score: `1.234`, `27.31`, `1.2e-05`."""
    if not math.isfinite(number):
        return str(number)
    if number != 0 and not 1e-3 <= abs(number) < 1e4:
        return f"{number:.2g}"
    return f"{number:.3f}" if abs(number) < 10 else f"{number:.2f}"
