"""Series that are not of the form that a model reads, told with their place, or left out and counted."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from seqloom.data.reading import Block, DataError, Shape, Skipped, read
from seqloom.data.reading.faults import Faults
from seqloom.data.readings import COLOURS, Form, ReadingsSettings
from seqloom.data.settings import Bad, Corpus


def usual_form(block: Block, settings: ReadingsSettings) -> Form:
    """That of most of its series: of one odd picture among many, it is the odd one that is told.

    Where some pictures have colours, all are read in colours: grey ones lose nothing so.
    """
    forms = [Form.of(x, block.names, settings) for x in block.columns[0]]
    coloured = [form for form in forms if form.columns is not None and len(form.names) == COLOURS]
    return Counter(coloured or forms).most_common(1)[0][0]


def read_fitting(corpus: Corpus, shape: Shape, bad: Bad, form: Form | None, named: bool = True) -> Iterator[Block]:
    """What `read` gives; of series, which have a form, those of that form. named: also in the names of channels."""
    for block in read(corpus, shape, bad):
        if form is not None and named:
            _refuse_other_names(block, form)
        yield block if form is None else _of_form(block, form, bad)


def fitting(block: Block, form: Form, bad: Bad = "stop") -> Block:
    """A block without the series that are not of the form, of which the first raises, or all are counted."""
    _refuse_other_names(block, form)
    return _of_form(block, form, bad)


def _refuse_other_names(block: Block, form: Form) -> None:
    """Channels are given by name, where the file names them, and their order may differ from what a model learnt from
    no more than their number may."""
    if block.names and block.names != form.names and len(block.names) == len(form.names):
        raise DataError(
            f"{block.file}: the channels are {', '.join(block.names)}, but {', '.join(form.names)} are expected; "
            "bring them into that order"
        )


def _of_form(block: Block, form: Form, bad: Bad) -> Block:
    faults, kept = Faults(bad), list[int]()
    values, *others = block.columns
    fitted = [form.fitted(x) for x in values]
    if any(now is not before for now, before in zip(fitted, values, strict=True)):
        block = replace(block, columns=(fitted, *others))
    for row, (line, x) in enumerate(zip(block.lines, block.columns[0], strict=True)):
        wrong = form.misfit(x)
        if wrong is None:
            kept.append(row)
            continue
        step = form.odd_step(x) if block.by_steps else None
        faults.fault(block.places.of(block.file, line + (step[0] if step else 0)), wrong)
    if len(kept) == len(block.lines):
        return block
    report = Skipped()
    for skipped in block.report, faults.taken():
        report.add(skipped)
    return replace(block.take(kept), report=report, skipped=report.total)
