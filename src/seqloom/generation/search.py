"""A seam: the likeliest token, step by step, until the search is here."""

from collections.abc import Iterable, Iterator

import torch

from seqloom.generation.contract import Item, Scorer, Written
from seqloom.generation.settings import GenerationSettings
from seqloom.layers.mixer import reorder


def write(
    scorer: Scorer, items: Iterable[Item], settings: GenerationSettings, *, attention: bool = False
) -> Iterator[tuple[int, list[Written]]]:
    queue = list(items)
    for begin in range(0, len(queue), settings.batch):
        part = queue[begin : begin + settings.batch]
        for item in part:
            state, last = scorer.start([item])
            tokens: list[int] = []
            probs: list[float] = []
            looked = []
            ended = False
            while not ended and len(tokens) < item.longest:
                log_probs, seen, state = scorer.step(last, state, attention)
                forced = item.prefix[len(tokens)] if len(tokens) < len(item.prefix) else int(log_probs[0].argmax())
                ended = forced == scorer.end
                probs.append(float(log_probs[0, forced]))
                looked += [] if seen is None else [seen[0]]
                tokens += [] if ended else [forced]
                last = torch.full_like(last, forced)
                state = reorder(state, torch.zeros(1, dtype=torch.int64, device=last.device))
            total = sum(probs)
            seen_TS = torch.stack(looked) if looked else None
            yield item.number, [Written(tuple(tokens), total, total, tuple(probs), ended, seen_TS)] * settings.n_best
