"""Each box's equation, in symbols, and with the numbers of one row of this input put in."""

from collections.abc import Callable, Mapping

from seqloom.inspect.equation import Equation, Known
from seqloom.inspect.equations_of_attention import ATTENTION
from seqloom.inspect.equations_of_layers import LAYERS
from seqloom.inspect.equations_of_recurrence import RECURRENCE
from seqloom.inspect.equations_of_words import WORDS
from seqloom.inspect.trace import Trace

EQUATIONS: Mapping[str, Callable[[Known], Equation]] = {**WORDS, **ATTENTION, **LAYERS, **RECURRENCE}
"""By the kind of box."""


def equation(trace: Trace, id: str, row: int = 0, head: int = 0) -> Equation:
    """Of a box. Rows and heads are counted from 0, in the equation from 1; IndexError: there is no such one."""
    box = trace.flow.box(id)
    assert box is not None
    known = Known.of(trace, box, row, head)
    if not known.own:
        wants = "the right answer is not known: give it, and its loss is computed"
        return Equation(wants if box.kind == "loss" else "nothing was computed here for this input", "")
    return EQUATIONS[box.kind](known)
