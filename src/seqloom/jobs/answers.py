"""What a model says to some examples."""

import sys

import torch
from torch import Tensor

from seqloom.data.cache import Examples
from seqloom.generation import greedy
from seqloom.jobs.recipe import learned_positions
from seqloom.layers.layout import Padded
from seqloom.models.build import Model
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.models.output import DecoderState
from seqloom.tasks import Batch
from seqloom.tasks.classify import ClassifyTask
from seqloom.tasks.tag import TagTask
from seqloom.tasks.translate import TranslateTask
from seqloom.text import BEGIN, END

ROWS = 128  # that are written together


@torch.no_grad()
def answers(
    task: TranslateTask, model: Model, examples: Examples, device: torch.device, longest: int | None = None
) -> list[str]:
    """What is written, in the order of the examples. longest: tokens of an answer at most; else the source decides."""
    assert isinstance(model, EncoderDecoder)
    was = model.training
    model.eval()
    lengths = torch.from_numpy(examples.columns["source"].lengths_B)
    order = lengths.argsort(stable=True)
    room = min(learned_positions(model.settings, "decoder"), default=sys.maxsize)
    said: list[str] = [""] * len(order)
    for rows in order.split(ROWS):
        source = task.batch(examples.take(rows.numpy())).source
        assert source is not None
        source = source.to(device)
        state = model.start(model.encode(source.tokens_N, source.layout))
        most = min(2 * int(lengths[rows].max()) + 50 if longest is None else longest, room)
        texts = task.target.decode_many(greedy(_stepper(model), state, BEGIN, END, most))
        for row, text in zip(rows.tolist(), texts, strict=True):
            said[row] = text
    model.train(was)
    return said


def far_enough(examples: Examples) -> int:
    """So many tokens that no answer as long as the references is cut, but the babble of an untrained model is."""
    return 2 * int(examples.columns["target"].lengths_B.max(initial=0)) + 10


def _stepper(model: EncoderDecoder):  # type: ignore[no-untyped-def]
    def step(last_B: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        output = model.step(last_B[:, None], Padded.whole(len(last_B), 1, device=last_B.device), state)
        assert output.state is not None
        return model.scores(output)[:, 0], output.state

    return step


@torch.no_grad()
def chosen(task: TagTask | ClassifyTask, model: Model, batch: Batch, device: torch.device) -> Tensor:
    """The likeliest tag of each piece, or class of each row."""
    was = model.training
    model.eval()
    assert batch.source is not None
    source = batch.source.to(device)
    best = model.scores(model(source.tokens_N, source.layout)).argmax(-1).cpu()
    model.train(was)
    return best
