"""What a demo shows in the end: its score, samples, where the errors are, where it looked, what to type next."""

import unicodedata
from collections import Counter
from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from seqloom.inspect import attention_svg, attention_text
from seqloom.inspect.picture import LEFT_TO_RIGHT, SHADES
from seqloom.jobs.demo import Answer, Looked, Shown
from seqloom.jobs.demos import NAMES, Name
from seqloom.jobs.drawn_table import draw
from seqloom.jobs.table import Table
from seqloom.store import RunFolder
from seqloom.store.atomic import write_text

THINGS: dict[Name, str] = {"dates": "dates", "numbers": "numbers", "phonemes": "words", "digits": "digits"}
SLICES: dict[Name, str] = {"dates": "language", "numbers": "direction", "phonemes": "length", "digits": "digit"}
SAMPLES, WRONG_SAMPLES = 10, 3
WORST = 12  # slices in the table
PIXELS = 8  # a side of a digit's picture


def show(shown: Shown, console: Console) -> None:
    """All of it. In a pipe there are neither colours nor frames, and no line is broken."""
    if not shown.answers:
        raise ValueError("there is nothing to show")
    _say(console, _result(shown))
    samples = _samples(shown.answers)
    if shown.name == "digits":
        _say(console, "\n" + _digits(samples, console.width))
    else:
        _show_samples(samples, console)
    _show_slices(shown, console)
    if shown.looked is not None:
        _show_attention(shown.looked, shown.trained.run, console)
    _say(console, "\n" + _next(shown))


def _say(console: Console, text: str, style: str | None = None) -> None:
    console.print(Text(text), style=style, soft_wrap=True)


def _result(shown: Shown) -> str:
    right, count, place = sum(answer.right for answer in shown.answers), len(shown.answers), shown.trained.place
    # rounded down: 100 % is all of them
    share = 1000 * right // count / 10
    before = "" if shown.new else " (trained before; --force starts anew)"
    return (
        f"{share:.1f} % of {count:,} {THINGS[shown.name]} that it never saw are right ({right:,}), "
        f"after {place.step:,} steps{before}"
    )


def _samples(answers: Sequence[Answer]) -> list[Answer]:
    """Of as many slices as can be, some of them wrong if any is; in the order of the test."""
    wrong = [answer for answer in answers if not answer.right][:WRONG_SAMPLES]
    first = {answer.example.slice: answer for answer in reversed(answers) if answer.right}
    rest = [answer for answer in answers if answer.right and first[answer.example.slice] is answer]
    rest += [answer for answer in answers if answer.right and first[answer.example.slice] is not answer]
    taken = {id(answer) for answer in (*wrong, *rest[: SAMPLES - len(wrong)])}
    return [answer for answer in answers if id(answer) in taken][:SAMPLES]


def _show_samples(samples: Sequence[Answer], console: Console) -> None:
    _say(console, "")
    widest = max(cell_len(answer.example.source) for answer in samples)
    for answer in samples:
        source = answer.example.source
        padding = " " * (widest - cell_len(source))
        verdict = "" if answer.right else f"   wrong: {_ordered(answer.example.target)}"
        line = f"  {_ordered(source)}{padding} → {_ordered(answer.text)}{verdict}"
        _say(console, line, None if answer.right else "red")


def _ordered(text: str) -> str:
    """What follows a text that is read from the right stays behind it."""
    turned = any(unicodedata.bidirectional(sign) in ("R", "AL", "AN") for sign in text)
    return text + LEFT_TO_RIGHT if turned else text


# -- where the errors are


def _show_slices(shown: Shown, console: Console) -> None:
    counts = Counter(answer.example.slice for answer in shown.answers)
    right = Counter(answer.example.slice for answer in shown.answers if answer.right)
    worst = sorted((name for name in counts if right[name] < counts[name]), key=lambda name: right[name] / counts[name])
    rows = [
        (name, f"{1000 * right[name] // counts[name] / 10:.1f} %", f"{right[name]:,} of {counts[name]:,}")
        for name in worst[:WORST]
    ]
    if rows:
        _say(console, f"\nwhere it errs, worst {SLICES[shown.name]} first")
        _show_table((SLICES[shown.name], "right", ""), rows, console)
    if len(worst) > WORST:
        last = right[worst[WORST]] / counts[worst[WORST]]
        _say(console, f"  and {len(worst) - WORST} more, each at least {int(1000 * last) / 10:.1f} % right")
    perfect = [name for name in sorted(counts) if right[name] == counts[name]]
    if perfect:
        _say(console, f"  all right: {', '.join(perfect)}")


def _show_table(head: Sequence[str], rows: Sequence[Sequence[str]], console: Console) -> None:
    if console.is_terminal:
        draw(Table("", tuple(head), tuple(map(tuple, rows))), console)
        return
    widths = [max(cell_len(row[place]) for row in (head, *rows)) for place in range(len(head))]
    for row in rows:
        first, *others = (" " * (width - cell_len(text)) + text for text, width in zip(row, widths, strict=True))
        _say(console, "   ".join(["  " + row[0] + first[: len(first) - len(row[0])], *others]))


# -- pictures


def _show_attention(looked: Looked, run: RunFolder, console: Console) -> None:
    source = looked.answer.example.source
    title = f"{_ordered(source)} → {_ordered(looked.answer.text)}"
    _say(console, f"\nwhere it looked (rows: what it wrote; columns: what it read; ∎ the end): {title}\n")
    _say(console, attention_text(looked.weights_TS, looked.wrote, looked.read, min(console.width, 100)))
    file = run.path / "attention.svg"
    write_text(file, attention_svg(looked.weights_TS, looked.wrote, looked.read, title))
    _say(console, f"\nthe same as a picture: {file}")


def digit_picture(source: str) -> list[str]:
    """A line a row of pixels, of 0 (white) to 16 (black)."""
    shades = [SHADES[min(int(pixel) * len(SHADES) // 17, len(SHADES) - 1)] * 2 for pixel in source.split()]
    return ["".join(shades[begin : begin + PIXELS]) for begin in range(0, len(shades), PIXELS)]


def _digits(samples: Sequence[Answer], width: int) -> str:
    beside = max(1, width // (2 * PIXELS + 2))
    blocks = []
    for begin in range(0, len(samples), beside):
        group = samples[begin : begin + beside]
        lines = list(zip(*(digit_picture(answer.example.source) for answer in group), strict=True))
        says = [f"→ {answer.text}" + ("" if answer.right else f"  wrong: {answer.example.target}") for answer in group]
        rows = [*lines, says]
        blocks.append("\n".join("".join(f"{part:{2 * PIXELS + 2}}" for part in row).rstrip() for row in rows))
    return "\n\n".join(blocks)


# -- what to type next


def _next(shown: Shown) -> str:
    run, files = shown.trained.run.path, shown.files
    others = [name for name in NAMES if name != shown.name]
    lines = [
        (f"seqloom predict {run}", "ask it yourself: type a line, see the answer"),
        (f"seqloom demo {others[0]}", f"another one; there is also {' and '.join(others[1:])}"),
        (f"seqloom recipes demo-{shown.name}", "its recipe, with every default"),
        ("seqloom train --data FILE", "your own pairs: TSV, CSV, JSONL, two text files …"),
        (f"seqloom train demo-{shown.name} --data {files['train']} --out runs/mine", "the same by hand"),
    ]
    widest = max(len(command) for command, _ in lines[:-1])
    told = [f"  {command:{widest}}   {what}" for command, what in lines]
    return "\n".join(
        [
            f"data: {files['train'].parent}; run: {run} (card.md tells of it, curves.svg shows how it learned)",
            "next:",
            *told,
        ]
    )
