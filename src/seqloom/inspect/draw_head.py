"""What a model says as boxes: scores, probabilities, loss; classes; numbers."""
# T positions  V vocabulary, tags or classes  Q quantiles

from collections.abc import Iterator
from typing import assert_never

import torch

from seqloom.inspect.drawing import Drawing, Spot, count
from seqloom.inspect.seen import Seen
from seqloom.inspect.values import Axis, Value, row_of
from seqloom.layers.chain import Chain, exact, log_marginals, log_total
from seqloom.models.build import Model
from seqloom.models.encoder_only import EncoderOnly
from seqloom.models.heads import ClassHead, HorizonHead, NumberHead, TagHead, TokenHead


def draw_head(drawing: Drawing, model: Model, read: Spot) -> None:
    reads: Axis = "source" if isinstance(model, EncoderOnly) else "target"
    says: Axis = "source" if isinstance(model, EncoderOnly) else "written"
    match model.head:
        case TokenHead():
            _tokens(drawing, model.head, read, reads, says)
        case TagHead():
            scored = _scores(drawing, model.head, [read], reads, says)
            chain = model.head.chain
            _chances(drawing, scored if chain is None else _chain(drawing, chain, scored, says), says)
        case ClassHead():
            _classes(drawing, model.head, read)
        case NumberHead() | HorizonHead():
            _numbers(drawing, model.head, read, reads)
        case _:
            assert_never(model.head)
    if isinstance(model, EncoderOnly) and model.follows is not None:
        _follows(drawing, model, read)


def _tokens(drawing: Drawing, head: TokenHead, read: Spot, reads: Axis, says: Axis) -> None:
    for name, title in ("transform", "one more layer"), ("narrow", "narrower"):
        part = getattr(head, name)
        if part is not None:
            read = _part(drawing, f"head.{name}", title, read, reads, count(part))
    _chances(drawing, _scores(drawing, head, [read], reads, says), says)


def _part(drawing: Drawing, id: str, title: str, read: Spot, axis: Axis, parameters: int) -> Spot:
    def values(seen: Seen) -> Iterator[Value]:
        yield Value("x", "what goes in", seen.read(id), axis)
        yield Value("y", "what comes out", seen.made(id), axis)

    return drawing.add(id, "map", title, [read], values, parameters=parameters)


def _scores(drawing: Drawing, head: TokenHead | TagHead, reads: list[Spot], axis: Axis, says: Axis) -> Spot:
    def values(seen: Seen) -> Iterator[Value]:
        yield Value("x", "last vectors", reads[0].made(seen), axis)
        yield Value("z", "scores", seen.made("head"), says, "vocabulary")

    bias, factor = True, 1.0
    if isinstance(head, TokenHead):
        bias, factor = head.bias_V is not None, head.factor
    settings = {"bias": bias, "factor": factor}
    return drawing.add("head", "logits", "scores", reads, values, parameters=count(head), settings=settings)


def _chain(drawing: Drawing, chain: Chain, scored: Spot, says: Axis) -> Spot:
    def values(seen: Seen) -> Iterator[Value]:
        links, scores_TV = chain.links, exact(scored.made(seen))
        follow_VV = links.follow_VV.detach()
        yield Value("A", "what each tag adds (columns) behind another (rows)", follow_VV, "vocabulary", "vocabulary")
        words = list(range(len(scores_TV)) if seen.words is None else seen.words)
        words_1WV, length_1 = scores_TV[None, words], torch.tensor([len(words)], device=scores_TV.device)
        all_TV = scores_TV.clone()  # pieces that begin no word have no tag, and keep their own scores
        all_TV[words] = (log_marginals(words_1WV, length_1, links)[0] + log_total(words_1WV, length_1, links)).detach()
        yield Value("s", "scores of all sequences of tags that have this one there", all_TV, says, "vocabulary")

    return drawing.add("head.chain", "chain", "chain of tags", [scored], values, parameters=count(chain))


def _chances(drawing: Drawing, scored: Spot, says: Axis | None) -> None:
    def probabilities(seen: Seen) -> Iterator[Value]:
        yield Value("p", "probabilities", scored.made(seen).float().softmax(-1), says, "vocabulary")

    def loss(seen: Seen) -> Iterator[Value]:
        if seen.goal_T is not None:
            real_T = (seen.goal_T >= 0)[:, None]
            log_probs_TV = scored.made(seen).float().log_softmax(-1)
            each_T1 = -log_probs_TV.gather(-1, seen.goal_T.clamp(min=0)[:, None])
            yield Value("L", "loss of each place", each_T1.masked_fill(~real_T, float("nan")), says)

    said = drawing.add("head.probabilities", "probabilities", "softmax", [scored], probabilities)
    drawing.add("head.loss", "loss", "loss", [said], loss)


def _classes(drawing: Drawing, head: ClassHead, read: Spot) -> None:
    def pooled(seen: Seen) -> Iterator[Value]:
        yield Value("x", "last vectors", read.made(seen), "source")
        if head.ask_D is not None:
            yield Value("w", "weight of each place", head.weights(*seen.call("head").args).detach().T, "source")
        yield Value("v", "one vector of all places", row_of(seen.read("head.out")))

    def scores(seen: Seen) -> Iterator[Value]:
        yield Value("v", "one vector of all places", row_of(seen.read("head.out")))
        yield Value("z", "scores", row_of(seen.made("head")), None, "vocabulary")

    settings = {"pools": list(head.pools)}
    title = " and ".join(head.pools)
    pool = drawing.add("head.pool", "pool", f"pool: {title}", [read], pooled, settings=settings)
    shown = {"bias": True, "factor": 1.0}
    scored = drawing.add("head", "logits", "scores", [pool], scores, parameters=count(head), settings=shown)
    _chances(drawing, scored, None)


def _numbers(drawing: Drawing, head: NumberHead | HorizonHead, read: Spot, reads: Axis) -> None:
    def values(seen: Seen) -> Iterator[Value]:
        yield Value("x", "last vectors", read.made(seen), reads)
        made = seen.made("head")
        if isinstance(head, HorizonHead):
            yield Value("y", "numbers to come, with their quantiles; still scaled", made)
        else:
            yield Value("y", "numbers; still scaled", made.flatten(1), "written")

    quantiles = list(head.settings.quantiles) if isinstance(head, HorizonHead) else head.quantiles
    settings = {"quantiles": quantiles}
    drawing.add("head", "numbers", "numbers", [read], values, parameters=count(head), settings=settings)


def _follows(drawing: Drawing, model: EncoderOnly, read: Spot) -> None:
    def values(seen: Seen) -> Iterator[Value]:
        scores = row_of(seen.made("follows"))
        yield Value("z", "scores: from elsewhere, or follows", scores)
        yield Value("p", "probabilities", scores.float().softmax(-1))

    drawing.add("follows", "follows", "does it follow?", [read], values, parameters=count(model.follows))
