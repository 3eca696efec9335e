"""What a model says as boxes: scores, probabilities, loss."""
# T positions  V vocabulary

from collections.abc import Iterator

from seqloom.inspect.drawing import Drawing, Spot, count
from seqloom.inspect.seen import Seen
from seqloom.inspect.values import Value
from seqloom.models.build import Model
from seqloom.models.heads import TokenHead


def draw_head(drawing: Drawing, model: Model, read: Spot) -> None:
    head = model.head
    if isinstance(head, TokenHead):
        _tokens(drawing, head, read)
    else:
        raise NotImplementedError


def _tokens(drawing: Drawing, head: TokenHead, read: Spot) -> None:
    def logits(seen: Seen) -> Iterator[Value]:
        yield Value("x", "last vectors", seen.read("head"), "target")
        yield Value("z", "scores", seen.made("head"), "written", "vocabulary")

    def probabilities(seen: Seen) -> Iterator[Value]:
        yield Value("p", "probabilities", scored.made(seen).float().softmax(-1), "written", "vocabulary")

    def loss(seen: Seen) -> Iterator[Value]:
        if seen.goal_T is not None:
            log_probs_TV = scored.made(seen).float().log_softmax(-1)
            yield Value("L", "loss of each token", -log_probs_TV.gather(-1, seen.goal_T[:, None]), "written")

    settings = {"bias": head.bias_V is not None, "factor": head.factor, "size": len(head.weight_VD)}
    scored = drawing.add("head", "logits", "scores", [read], logits, parameters=count(head), settings=settings)
    said = drawing.add("head.probabilities", "probabilities", "softmax", [scored], probabilities)
    drawing.add("head.loss", "loss", "loss", [said], loss)
