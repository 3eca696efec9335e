"""Series that are not of the form that a model reads, told with their place."""

from seqloom.data.reading import Block, DataError
from seqloom.data.readings import Floats, Form


def fitting(block: Block, form: Form) -> list[Floats]:
    """The series of a block, all of the form.

    The first that is not raises: channels are given by name, where the file names them, and their order may differ from
    what a model learnt from no more than their number may.
    """
    if block.names and block.names != form.names and len(block.names) == len(form.names):
        raise DataError(
            f"{block.file}: the channels are {', '.join(block.names)}, but {', '.join(form.names)} are expected; "
            "bring them into that order"
        )
    for line, x in zip(block.lines, block.columns[0], strict=True):
        wrong = form.misfit(x)
        if wrong is not None:
            step = form.gap(x) if block.by_steps and x.shape[-1] == len(form.names) else None
            raise DataError(f"{block.file}:{line + (step[0] if step else 0)}: {wrong}")
    return block.columns[0]
