"""How good a model is on validation examples: its loss, and what it writes."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import torch

from seqloom.data.cache import Cache, Examples
from seqloom.data.order import in_order
from seqloom.evaluation import Bleu, Chrf, ExactMatch, Gleu, Metric, total
from seqloom.evaluation.scripts import tokenizer_for
from seqloom.jobs.learning.answers import answers, chosen, far_enough
from seqloom.jobs.learning.by_heart import ByHeart
from seqloom.jobs.learning.tag_scores import tag_scores
from seqloom.models.build import Model
from seqloom.models.encoder_only import EncoderOnly
from seqloom.models.undisturbed import undisturbed
from seqloom.tasks import Task
from seqloom.tasks.classify import ClassifyTask
from seqloom.tasks.forecast import ForecastTask, levels_of
from seqloom.tasks.language import LanguageTask
from seqloom.tasks.masked import MaskedTask, read
from seqloom.tasks.nodes import NodesTask
from seqloom.tasks.tag import TagTask
from seqloom.tasks.translate import TranslateTask
from seqloom.text import Characters
from seqloom.text.labels import NONE
from seqloom.training.settings import TrainingSettings
from seqloom.training.validation import mean_loss

USUAL = TrainingSettings()


def metrics_of(
    task: Task, caches: Sequence[Cache], training: TrainingSettings | None = None
) -> tuple[Metric[str], ...]:
    """Of what is written: BLEU as it suits the references' script, and not where it could be nothing but 0.

    training: GLEU too, where it is trained for or chooses the best model.
    """
    if not isinstance(task, TranslateTask):
        return ()
    references = [_references(task, _sample(caches, (training or USUAL).answered))]
    bleu = Bleu(tokenizer_for(references))
    wanted = training is not None and (training.reward is not None or training.best == Gleu.name)
    gleu = (Gleu(bleu.tokenize),) if wanted else ()
    return (ExactMatch(), *((bleu,) if bleu.possible(references) else ()), Chrf(), *gleu)


def validator(
    task: Task,
    caches: Sequence[Cache],
    budget: int,
    device: torch.device,
    metrics: Sequence[Metric[str]],
    answered: int = USUAL.answered,
    note: Callable[[str], None] = lambda text: None,
) -> Callable[[Model], dict[str, float]]:
    """Scores by name: `loss`, and the task's own. metrics: of what is written,
    of so many examples. note: hears why it is slow, if so."""

    def batches_of(cache: Cache) -> Iterator[Examples]:
        return in_order(cache, budget, task.reshape, task.marks, task.joined, task.streams)

    def batches() -> Iterator[Examples]:
        return (examples for cache in caches for examples in batches_of(cache))

    if isinstance(task, ForecastTask):
        return lambda model: forecast_scores(task, model, batches(), device)
    sample, by_heart = _sample(caches, answered), ByHeart(note)

    def validate(model: Model) -> dict[str, float]:
        loss = mean_loss(model, task, batches(), device)
        if isinstance(task, TranslateTask):
            return {"loss": loss, **written_scores(task, model, sample, metrics, device, by_heart)}
        if isinstance(task, TagTask):
            parts = ((cache.unseen, batches_of(cache)) for cache in caches)
            return {"loss": loss, **tag_scores(task, model, parts, device)}
        return {"loss": loss, **_own(task, model, loss, batches, device)}

    return validate


def _own(
    task: Task,
    model: Model,
    loss: float,
    batches: Callable[[], Iterator[Examples]],
    device: torch.device,
) -> dict[str, float]:
    match task:
        case LanguageTask():
            return {"perplexity": math.exp(min(loss, 700.0))}
        case MaskedTask():
            return masked_accuracy(task, model, batches(), device)
        case ClassifyTask() | NodesTask():
            return {"accuracy": accuracy(task, model, batches(), device)}
        case _:
            return {}


@torch.no_grad()
def forecast_scores(
    task: ForecastTask, model: Model, batches: Iterable[Examples], device: torch.device
) -> dict[str, float]:
    """Means over all values of all windows that are not missing; on z-scores of the training part."""
    sums, count = Counter[str](), 0
    with undisturbed(model):
        for examples in batches:
            batch = task.batch(examples).to(device)
            said, _ = task.run(model, batch)
            found = task.errors(said, batch.goal, levels_of(model))
            sums.update({name: value.item() for name, value in found.items()})
            count += batch.count
    return {name: value / max(count, 1) for name, value in sums.items()}


def written_scores(
    task: TranslateTask,
    model: Model,
    examples: Examples,
    metrics: Sequence[Metric[str]],
    device: torch.device,
    by_heart: ByHeart | None = None,
) -> dict[str, float]:
    """What is written, greedily, against the references: exact matches, BLEU and chrF of sacreBLEU, all in percent."""
    references = _references(task, examples)
    said = answers(task, model, examples, far_enough(examples), by_heart)
    stats = {metric: metric.statistics(said, [references]) for metric in metrics}
    return {metric.name: float(metric.score(total(stats_ND))) for metric, stats_ND in stats.items()}


def signature(metrics: Sequence[Metric[str]], answered: int) -> str:
    """How the scores were counted, of so many examples; empty where there is nothing to say."""
    if not metrics:
        return ""
    counted = "; ".join(f"{metric.title}: `{metric.signature()}`" for metric in metrics[1:])
    return f"Written greedily; of validation examples {answered:,} at most. {counted}."


def accuracy(task: ClassifyTask | NodesTask, model: Model, batches: Iterable[Examples], device: torch.device) -> float:
    """In percent. A label that training never saw cannot be given, and counts as wrong."""
    right, count = 0, 0
    for examples in batches:
        batch = task.batch(examples)
        goal = batch.goal
        right += int(((chosen(model, batch, device) == goal) & (goal >= 0)).sum())
        count += int((examples.columns["target"].values_N != NONE).sum())
    return 100 * right / max(count, 1)


@torch.no_grad()
def masked_accuracy(
    task: MaskedTask, model: Model, batches: Iterable[Examples], device: torch.device
) -> dict[str, float]:
    """In percent: of the tokens that are asked for, and of what follows, where the task asks it."""
    assert isinstance(model, EncoderOnly)
    right, count, followed, rows = 0, 0, 0, 0
    with undisturbed(model):
        for examples in batches:
            batch = task.batch(examples).to(device)
            output = read(model, batch)
            right += int((model.scores(output.at(batch.asked_M)).argmax(-1) == batch.goal).sum())
            count += batch.count
            if batch.follows_B is not None:
                followed += int((model.follow_scores(output).argmax(-1) == batch.follows_B).sum())
                rows += len(batch.follows_B)
    found = {"accuracy": 100 * right / max(count, 1)}
    return found | {"follows": 100 * followed / max(rows, 1)} if task.settings.follows else found


def _references(task: TranslateTask, examples: Examples) -> list[str]:
    return task.target.decode_many([row.tolist() for row in _rows(examples, "target")])


def _rows(examples: Examples, column: str) -> list[np.ndarray]:
    rows = examples.columns[column]
    return [rows[row] for row in range(len(rows))]


def _sample(caches: Sequence[Cache], most: int) -> Examples:
    """The same examples every time: all of a small cache, else some, spread over its first chunks."""
    parts = []
    for cache in caches:
        if len(cache):
            wanted = max(1, round(most * len(cache) / sum(map(len, caches))))
            chunks = 1 + int(np.searchsorted(np.cumsum(cache.rows), min(wanted, len(cache))))
            first = Examples.join(cache.read(range(chunks)))
            parts.append(first.take(np.unique(np.linspace(0, len(first) - 1, min(wanted, len(first))).astype(int))))
    return Examples.join(parts)


def main_score(task: Task) -> str:
    """The one that is shown while it trains."""
    match task:
        case TranslateTask():
            return "exact" if isinstance(task.target.settings, Characters) else "chrf"
        case LanguageTask():
            return "perplexity"
        case TagTask() | ClassifyTask() | MaskedTask() | NodesTask():
            return "accuracy"
        case ForecastTask():
            return "mse"
        case _:
            return "loss"
