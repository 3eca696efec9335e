"""seqloom demo: train a tiny model, see it answer, see why."""

import random
import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from torch import Tensor

    from seqloom.models.encoder_decoder import EncoderDecoder

LETTERS = "abcdefghijklmnopqrstuvwxyz"
BEGIN, END = 0, 1  # letters follow
SHADES = " ░▒▓█"


def demo(
    steps: Annotated[int, typer.Option(help="How long to train.", min=1)] = 500,
    seed: Annotated[int, typer.Option(help="Another seed, other words and weights.")] = 0,
) -> None:
    """Train a small encoder-decoder to write words backwards, then show what it says and where it looked.

    The words are random letters; those that the model is tested on are not among those it was trained on.

    \b
    Example:
      seqloom demo --steps 1000 --seed 1
    """
    import torch

    from seqloom.cli.demo_model import build

    torch.manual_seed(seed)
    torch.set_num_threads(1)  # a model this small is slower on more
    words = random.Random(seed)
    test = _words(words, 500)
    model = build(len(LETTERS) + 2)
    parameters = sum(p.numel() for p in model.parameters())
    typer.echo(f"an encoder-decoder of {parameters:,} parameters learns to write words backwards", err=True)
    _train(model, words, set(test), steps)
    answers = _answers(model, test)
    right = sum(answer == word[::-1] for word, answer in zip(test, answers, strict=True))
    typer.echo(f"\n{right / len(test):.1%} of {len(test)} words that it never saw are right, after {steps} steps\n")
    for word, answer in list(zip(test, answers, strict=True))[:5]:
        typer.echo(f"  {word:>8} → {answer:8} {'' if answer == word[::-1] else 'wrong'}".rstrip())
    typer.echo("\nwhere it looked (rows: what it wrote; columns: what it read)\n")
    longest = max(test[:20], key=len)
    typer.echo(_picture(longest, _answers(model, [longest])[0], _looked(model, longest)))
    typer.echo(f"\nnext: {sys.argv[0]} recipes lists whole models; {sys.argv[0]} recipes NAME shows one", err=True)


def _words(draw: random.Random, count: int) -> list[str]:
    return ["".join(draw.choices(LETTERS, k=draw.randint(3, 8))) for _ in range(count)]


def _ids(word: str) -> list[int]:
    return [LETTERS.index(letter) + 2 for letter in word]


def _train(model: "EncoderDecoder", draw: random.Random, unseen: set[str], steps: int) -> None:
    """Adam with a short warm-up and a learning rate that falls to nothing."""
    import torch

    from seqloom.layers.layout import Packed
    from seqloom.models.heads import TokenHead

    assert isinstance(model.head, TokenHead)
    optimiser, tell = torch.optim.Adam(model.parameters(), fused=True), _Teller(steps)
    for step in range(1, steps + 1):
        batch = [word for word in _words(draw, 128) if word not in unseen]
        sources, targets = [_ids(word) for word in batch], [[*_ids(word[::-1]), END] for word in batch]
        source, given, goal = (
            torch.tensor([token for row in rows for token in row])
            for rows in (sources, [[BEGIN, *row[:-1]] for row in targets], targets)
        )
        layout = Packed.of([len(row) for row in targets])
        output = model(source, Packed.of([len(row) for row in sources]), given, layout)
        loss = model.head.loss(output.hidden, layout, goal) / len(goal)
        optimiser.param_groups[0]["lr"] = 2e-3 * min(1, step / 50) * (1 - (step - 1) / steps)
        loss.backward()
        optimiser.step()
        optimiser.zero_grad()
        tell(step, loss)


class _Teller:
    """One live line in a terminal, a line now and then elsewhere."""

    def __init__(self, steps: int) -> None:
        self.steps, self.live = steps, sys.stderr.isatty()
        self.began = self.told = time.monotonic()

    def __call__(self, step: int, loss: "Tensor") -> None:
        now, last = time.monotonic(), step == self.steps
        if not last and now - self.told < (0.2 if self.live else 5):
            return
        self.told = now
        left = (now - self.began) / step * (self.steps - step)
        line = f"step {step:4} of {self.steps}   loss {loss.item():.4f}   {left:3.0f} s left"
        done = 24 * step // self.steps
        bar = f"\r{'━' * done}{'─' * (24 - done)}  " if self.live else ""
        typer.echo(bar + line, err=True, nl=last or not self.live)


def _answers(model: "EncoderDecoder", words: list[str]) -> list[str]:
    """The likeliest letter, step by step, for all words at once."""
    import torch

    from seqloom.layers.layout import Packed, Padded

    model.eval()
    with torch.no_grad():
        source = torch.tensor([token for word in words for token in _ids(word)])
        state = model.start(model.encode(source, Packed.of([len(word) for word in words])))
        last, one = torch.full((len(words), 1), BEGIN), Padded.whole(len(words), 1)
        written = []
        for _ in range(max(map(len, words)) + 1):
            output = model.step(last, one, state)
            assert output.state is not None
            state, last = output.state, model.scores(output).argmax(-1)
            written.append(last[:, 0])
    rows = torch.stack(written, 1).tolist()
    return ["".join(LETTERS[token - 2] for token in row[: (*row, END).index(END)] if token > 1) for row in rows]


def _looked(model: "EncoderDecoder", word: str) -> "Tensor":
    """The last layer's attention over the source, averaged over its heads: w_TS."""
    import torch

    from seqloom.inspect import watch_attention
    from seqloom.layers.layout import Padded

    answer = _answers(model, [word])[0]
    given = torch.tensor([[BEGIN, *_ids(answer)]])
    with torch.no_grad(), watch_attention(model) as seen:
        model(torch.tensor([_ids(word)]), Padded.whole(1, len(word)), given, Padded.whole(1, given.shape[1]))
    return list(seen.values())[-1][0][0].mean(0)


def _picture(word: str, answer: str, weights_TS: "Tensor") -> str:
    lines = ["      " + " ".join(f"{letter:2}" for letter in word)]
    for letter, row in zip([*answer, "end"], weights_TS.tolist(), strict=True):
        cells = (SHADES[min(int(weight * len(SHADES)), len(SHADES) - 1)] * 2 for weight in row)
        lines.append(f"  {letter:>3} " + " ".join(cells))
    return "\n".join(lines)
