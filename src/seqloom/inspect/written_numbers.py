"""Numbers and vectors as an equation shows them: short, but never rounded to something else."""

import math

from torch import Tensor

SHOWN = 6
"""Numbers of a vector, or terms of a sum; more are an ellipsis."""
MINUS = "\N{MINUS SIGN}"


def number(value: float) -> str:
    """Three digits that count; whole numbers as they are."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    if value == int(value) and abs(value) < 1e6:
        text = str(int(value))
    elif abs(value) >= 1000 or abs(value) < 0.001:
        mantissa, exponent = f"{value:.2e}".split("e")
        text = f"{mantissa}·10{_raised(int(exponent))}"
    else:
        text = f"{value:.3g}" if abs(value) < 1 else f"{value:.2f}"
    return text.replace("-", MINUS)


def term(value: float) -> str:
    """Within a product or a sum: in brackets where it is negative."""
    return f"({number(value)})" if value < 0 else number(value)


def vector(values: Tensor) -> str:
    some = [number(value) for value in values[:SHOWN].tolist()]
    return f"[{', '.join(some)}{', …' if len(values) > SHOWN else ''}]"


def sum_of_products(left: Tensor, right: Tensor) -> str:
    """l₁·r₁ + l₂·r₂ + …"""
    pairs = zip(left[:SHOWN].tolist(), right[:SHOWN].tolist(), strict=True)
    shown = " + ".join(f"{term(one)}·{term(other)}" for one, other in pairs)
    return f"{shown} + …" if len(left) > SHOWN else shown


def lowered(value: int | str) -> str:
    """As an index: ₁₂."""
    return str(value).translate(str.maketrans("0123456789-", "₀₁₂₃₄₅₆₇₈₉₋"))


def _raised(value: int) -> str:
    return str(value).translate(str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"))
