"""What a model says to some examples."""

import torch
from torch import Tensor

from seqloom.data.cache import Examples
from seqloom.generation import GenerationSettings, Item, write
from seqloom.jobs.answering.scorer import scorer_of
from seqloom.jobs.answering.writing import MORE, TIMES, room
from seqloom.jobs.learning.by_heart import ByHeart
from seqloom.models.build import Model
from seqloom.models.heads import chain_of
from seqloom.models.undisturbed import undisturbed
from seqloom.tasks import Batch
from seqloom.tasks.tag_rows import TagRows
from seqloom.tasks.translate import TranslateTask

GREEDY = GenerationSettings(beam=1)


def answers(
    task: TranslateTask,
    model: Model,
    examples: Examples,
    longest: int | None = None,
    by_heart: ByHeart | None = None,
) -> list[str]:
    """What is written, the likeliest token after the other, in the order of the examples.

    longest: tokens of an answer at most; else the source decides. by_heart: of a model that is asked again and again.
    """
    sources = examples.columns["source"]
    most = room([model], "decoder") - 1
    items = (
        Item(
            source.tolist(),
            row,
            min(
                TIMES * len(source) + MORE if longest is None else longest,
                max(1, most - len(source)) if task.joined else most,
            ),
        )
        for row, source in enumerate(map(sources.__getitem__, range(len(sources))))
    )
    tokens: list[list[int]] = [[]] * len(sources)
    scorer, by_heart = scorer_of(task, [model]), by_heart or ByHeart()
    with undisturbed(model):
        try:
            for row, (best, *_) in write(scorer, items, GREEDY, static=by_heart.static(scorer, len(sources))):
                tokens[row] = list(best.tokens)
        finally:
            by_heart.done()
    return task.target.decode_many(tokens)


def far_enough(examples: Examples) -> int:
    """So many tokens that no answer as long as the references is cut, but the babble of an untrained model is."""
    return 2 * int(examples.columns["target"].lengths_B.max(initial=0)) + 10


@torch.no_grad()
def chosen(model: Model, batch: Batch, device: torch.device) -> Tensor:
    """The likeliest tag of each piece, or class of each row. Of a chain, NONE for a piece that begins no word."""
    assert batch.source is not None
    source = batch.source.to(device)
    with undisturbed(model):
        output = model(source.tokens_N, source.layout)
        scores, chain = model.scores(output), chain_of(model.head)
    if chain is None:
        return scores.argmax(-1).cpu()
    return TagRows.of(scores, output.layout, batch.goal.to(device)).best(chain.links).cpu()
