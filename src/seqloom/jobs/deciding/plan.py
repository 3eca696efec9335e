"""What a recipe leaves open, decided: the model's size, the batch, the number of steps."""

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from seqloom.data.order import Order
from seqloom.jobs.corpora.build import Corpora
from seqloom.jobs.deciding.sizes import Size
from seqloom.jobs.learning.drawing import objective_of
from seqloom.jobs.memory import bytes_per_token, free_bytes, refuse_too_large
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.models import Sizes, build_model, model_cost
from seqloom.models.cost import training_flops
from seqloom.models.settings import ModelSettings
from seqloom.tasks import Batch, Goals, Language, Task
from seqloom.tasks.forecast import ForecastTask
from seqloom.tasks.joined import JoinedTask
from seqloom.tasks.language import LanguageTask
from seqloom.tasks.masked import MaskedTask
from seqloom.tasks.music import MusicTask
from seqloom.tasks.nodes import NodesTask
from seqloom.training.load import Lengths, load_of, reads_tokens
from seqloom.training.optimisers import OptimiserSettings, build_optimiser
from seqloom.training.pace import Pace
from seqloom.training.settings import TrainingSettings
from seqloom.training.step import Work

EFFICIENCY = 0.3  # of the peak, that a small model's training reaches
MOST = {"cpu": 4096}  # tokens of a batch: more makes steps slower and learning no better
MOST_ELSEWHERE = 25_000
LEAST = 512
STEPS = 1500  # that a run should have room for
SHARE = 0.5  # of the free memory
WINDOWS, FEWEST_WINDOWS = 32, 4  # of a batch of series
TRIAL = 1024  # tokens of a batch that is measured with
SMALL = 3_000_000  # parameters; measuring larger ones takes seconds, and they want all threads
FEW_EPOCHS = 6
NO_TRAINING = TrainingSettings()


@dataclass(frozen=True)
class Amount:
    """How much there is to learn from in an epoch.

    tokens   that count
    larger   tokens of the larger side: what the budget of a batch is about
    examples rows of batches
    asked    the share of positions that have an output
    """

    tokens: int
    larger: int
    examples: int
    length: float
    source_length: float
    asked: float = 1.0
    seen: float | None = None
    """What a position of a graph sees, where that is not all of it."""


def amount(corpora: Corpora) -> Amount:
    task, rows = corpora.task, max(corpora.rows, 1)
    target, source = max(corpora.tokens("target"), 1), corpora.tokens("source")
    match task.shape:
        case "pairs" if isinstance(task, JoinedTask):
            whole = source + target + rows
            counts = target + rows if task.settings.learn == "target" else whole
            return Amount(counts, whole, rows, whole / rows, 1.0, counts / whole)
        case "pairs":
            both = target + rows, source + rows
            return Amount(both[0], max(both), rows, both[0] / rows, both[1] / rows)
        case "text":
            return _of_text(task, target, rows)
        case "tags" if isinstance(task, NodesTask):
            counts = max(1, len(task.graph.numbers_of("train")))
            return Amount(counts, target, rows, target / rows, target / rows, seen=task.neighbours)
        case "tags":
            counts = max(1, round(target * _labelled(corpora)))
            return Amount(counts, source, rows, max(1.0, source / rows), max(1.0, source / rows))
        case "timeline":
            assert isinstance(task, ForecastTask)
            each = task.scales.targets if task.apart else 1
            return Amount(target, max(source, 1), rows * each, task.steps, task.steps)
        case "classes":
            return Amount(rows, source + rows, rows, source / rows + 1, source / rows + 1)
        case "series":
            return Amount(rows, source, rows, max(1.0, source / rows), max(1.0, source / rows))


def _of_text(task: Task, target: int, rows: int) -> Amount:
    """Running text, cut into windows, or documents one by one."""
    if isinstance(task, MaskedTask):
        context, share = task.settings.context, task.settings.share
        parts = -(-target // context)
        return Amount(max(1, round(share * target)), target, parts, min(target, context), 1.0, share)
    assert isinstance(task, LanguageTask)
    if isinstance(task, MusicTask):
        whole, context = target + rows, task.settings.context
        parts = max(rows, -(-whole // context))
        return Amount(whole, whole, parts, whole / parts, 1.0)
    if isinstance(task.settings, Language) and task.settings.lines == "documents":
        return Amount(target + rows, target + rows, rows, target / rows + 1, 1.0)
    windows = -(-target // task.settings.context)
    return Amount(target, target, windows, min(target, task.settings.context), 1.0)


def _labelled(corpora: Corpora) -> float:
    """The share of pieces that have a tag: of a word of several, only the first has one."""
    parts = [part.cache.read([0])[0].columns["target"].values_N for part in corpora.train if len(part.cache)]
    return sum(int((values >= 0).sum()) for values in parts) / max(1, sum(map(len, parts)))


def flops_per_token(model: ModelSettings, sizes: Sizes, much: Amount, counted_per_row: float) -> float:
    """Of training, for each token that counts."""
    cost = training_flops(model_cost(model, sizes, much.seen or much.length, much.source_length, much.asked))
    return cost * much.length / max(counted_per_row, 1e-9)


def passes(training: TrainingSettings) -> float:
    """How much more a step costs than one of likelihood alone."""
    likelihood = 2.0 if training.r_drop else 1.0
    if training.reward is None:
        return likelihood
    # writing a sample is the first third of a pass, reading it a whole one; equal ones are read once, which is less
    return (likelihood if training.reward.likelihood else 0.0) + training.reward.samples * 4 / 3


def training_flops_per_token(recipe: Recipe, corpora: Corpora, much: Amount) -> float:
    """Of a recipe as it is trained, for each token that counts. Padding is not counted."""
    once = flops_per_token(recipe.model, corpora.task.sizes(), much, much.tokens / much.examples)
    return passes(recipe.training) * once


def largest(
    candidates: Sequence[tuple[Size, int, float]],
    much: Amount,
    seconds: float | None,
    peak: float,
    foretold: Mapping[Size, float] | None = None,
) -> Size:
    """The largest model that can learn something in the time.

    candidates: sizes with the parameters of their stacks, and FLOPs for each token. foretold: seconds for each token,
    where the machine's pace is known. In the time it should see the data eight times or ten tokens for each parameter,
    whichever is less; and it should not be far larger than the data.
    """
    best = candidates[0][0]
    for size, parameters, flops in candidates[1:]:
        each = flops / (peak * EFFICIENCY) if foretold is None else foretold[size]
        seen = float("inf") if seconds is None else seconds / each
        if seen >= min(8 * much.tokens, 10 * parameters) and parameters <= 8 * much.tokens:
            best = size
    return best


def batch_of(much: Amount, tokens: int) -> Lengths:
    """A batch with so many tokens of the larger side, as the pace of a machine is asked about it."""
    counted = much.larger if much.asked < 1 else much.tokens
    return Lengths(tokens * counted / much.larger, much.length, much.source_length, much.asked)


def grown(seconds: float, trial: int, batch: int, model: ModelSettings, corpora: Corpora, pace: Pace | None) -> float:
    """How long a step takes with another batch than the one that was measured: as the pace says, or in proportion."""
    if pace is None or trial == batch or not foreseen(model, corpora):
        return seconds * batch / trial
    much, sizes = amount(corpora), corpora.task.sizes()
    said = [pace.predict(load_of(model, sizes, batch_of(much, tokens))) for tokens in (trial, batch)]
    return seconds * said[1] / said[0]


def foreseen(model: ModelSettings, corpora: Corpora) -> bool:
    """Whether the load of a step is known: of texts."""
    return (
        reads_tokens(model)
        and corpora.task.shape in ("pairs", "text", "tags", "classes")
        and (not isinstance(corpora.task, NodesTask))
    )


def update_seconds(work: Work, optimiser: OptimiserSettings) -> float:
    """How long an update takes; gradients must be there."""
    update = build_optimiser(optimiser, work.model)
    times = []
    for _ in range(3):
        began = time.monotonic()
        update.step()
        if work.device.type == "cuda":
            torch.cuda.synchronize()
        times.append(time.monotonic() - began)
    return min(times[1:])


def step_seconds(work: Work, order: Order, enough: float = 1.0) -> float:
    """How long a step takes, measured on a few batches, or so many seconds; the model is spoilt by it."""
    times, cuda = list[float](), work.device.type == "cuda"
    for number, examples in enumerate(order.epoch(0)):
        batch = work.task.batch(examples)
        for _ in range(3 if cuda else 1):  # on a GPU a first time may wait for kernels to be made
            times.append(_seconds(work, batch))
        if number >= 3 or (number and sum(times[1:]) > enough):
            break
    if len(times) == 1:  # all data is one batch
        times.append(_seconds(work, batch))
    if cuda:
        return min(times)
    return statistics.median(times[1:] or times)  # the first is slower than all others


def _seconds(work: Work, batch: Batch) -> float:
    began = time.monotonic()
    work.gradients(1, [batch])
    if work.device.type == "cuda":
        torch.cuda.synchronize()
    return time.monotonic() - began


def validation_seconds(corpora: Corpora, per_token: float, answered: int) -> float:
    """About how long a validation takes. per_token: seconds of training; its first third is reading.

    Of pairs some are answered, token by token, which takes about as long as training on them.
    """
    tokens = sum(max(cache.totals.tokens.values(), default=0) for cache in corpora.valid)
    rows = sum(len(cache) for cache in corpora.valid)
    written = min(1.0, answered / max(rows, 1)) if corpora.task.shape == "pairs" else 0.0
    return per_token * tokens * (1 / 3 + written)


def threads_of(work: Work, corpora: Corpora, seed: int) -> int:
    """All that torch would use, or one: a small model is often faster on one, and more so on a busy machine."""
    every = torch.get_num_threads()
    if work.device.type != "cpu" or every == 1 or sum(p.numel() for p in work.model.parameters()) > SMALL:
        return every
    order = corpora.order(TRIAL // 2, seed)
    times = {}
    for count in (1, every):
        with threads(count):
            times[count] = step_seconds(work, order, enough=0.2)
    return min(times, key=lambda count: times[count])


@contextmanager
def threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def timed_budget(work: Work, corpora: Corpora, seed: int, seconds: float) -> tuple[int, float]:
    """The most tokens of a batch with which there is time for enough steps; and how long a step takes then.

    Updates are not counted.
    """
    chosen, took = LEAST, 0.0
    most = MOST.get(work.device.type, MOST_ELSEWHERE)
    budget = LEAST
    while budget <= most:
        each = step_seconds(work, corpora.order(budget, seed))
        if took and seconds / each < STEPS:
            break
        chosen, took = budget, each
        if seconds / each < 2 * STEPS and work.device.type == "cpu":
            break  # twice the tokens take twice the time
        budget *= 2
    return chosen, took


def budget_of(much: Amount, device: torch.device) -> int:
    """Tokens of a batch where no time is set: a twentieth of the data, within what is useful on the device."""
    return int(min(MOST.get(device.type, MOST_ELSEWHERE), max(LEAST, much.larger / 20)))


def windows_budget(corpora: Corpora) -> int:
    """Of series: so many windows that an epoch has twenty batches, within what is useful."""
    each = _longest(corpora)
    return each * min(WINDOWS, max(FEWEST_WINDOWS, corpora.examples // 20))


def _longest(corpora: Corpora) -> int:
    return max((side for part in corpora.train for side in part.cache.totals.longest.values()), default=1)


def trial_of(corpora: Corpora, batch: int, device: torch.device) -> int:
    """Tokens of a batch to measure with: a small one, but on a GPU, which has not done less sooner.

    Models of series are so small that it would mislead; a graph is one batch, whatever the budget. It has room for a
    picture: one of 128 · 128 pixels would be taken for 1,024 tokens, and all others for 16 times as slow.
    """
    whole = corpora.task.shape == "timeline" or isinstance(corpora.task, NodesTask)
    least = _longest(corpora) if corpora.task.shape == "series" else 1
    return batch if whole else min(batch, max(least, TRIAL if device.type == "cpu" else 16 * TRIAL))


def fitting(budget: int, work: Work, corpora: Corpora, seed: int) -> tuple[int, str | None]:
    """A budget that fits the memory, found by measuring one batch; a note if it had to be lowered."""
    longest = _longest(corpora)
    per_token, fixed = bytes_per_token(work, corpora.order(min(budget, TRIAL), seed))
    fits = int((SHARE * free_bytes(work.device) - fixed) / max(per_token, 1.0))
    if fits >= budget:
        return budget, None
    lowered = max(fits, longest + 1)
    return lowered, f"batches of {lowered:,} tokens instead of {budget:,}, so that they fit into the memory"


def steps_of(training: TrainingSettings, much: Amount, budget: int) -> int | None:
    """None: something else ends the run."""
    if any(limit is not None for limit in (training.steps, training.epochs, training.minutes, training.flops)):
        return training.steps
    epochs = min(60.0, max(3.0, 20_000_000 / much.larger))
    return max(200, _steps_in(epochs, training, much, budget))


def about_steps(training: TrainingSettings, much: Amount, budget: int) -> int | None:
    """As `steps_of`, the epochs as well; these end where they end, which is later: batches are seldom full."""
    steps = steps_of(training, much, budget)
    if training.epochs is None:
        return steps
    in_epochs = max(1, _steps_in(training.epochs, training, much, budget))
    return in_epochs if steps is None else min(steps, in_epochs)


def _steps_in(epochs: float, training: TrainingSettings, much: Amount, budget: int) -> int:
    return round(epochs * max(1.0, much.larger / (budget * training.accumulate)))


def steps_for(flops: float, per_token: float, much: Amount, a_step: int) -> int:
    """About how many steps cost so much. a_step: the budget of a step, in tokens of the larger side."""
    return max(1, round(flops / (per_token * a_step * much.tokens / much.larger)))


def dropout_for(epochs: float) -> float:
    """The oftener the data is seen, the more."""
    return 0.0 if epochs < 2 else 0.1 if epochs < 15 else 0.2


def tie_for(epochs: float, tie: str) -> dict[str, str]:
    """Separate token vectors learn faster, shared ones overfit less; measured: docs/decisions/0016."""
    return {"tie": "none"} if epochs < FEW_EPOCHS else {"tie": tie}


def throwaway(
    model: ModelSettings,
    corpora: Corpora,
    device: torch.device,
    precision: torch.dtype | None,
    training: TrainingSettings = NO_TRAINING,
) -> Work:
    """A model to measure with. training: what a step of it costs more."""
    sizes = corpora.task.sizes()
    refuse_too_large(model_cost(model, sizes).parameters, device)
    built = build_model(model, sizes).to(device).train()
    goals, objective = Goals(r_drop=training.r_drop), objective_of(training.reward, corpora.task)
    return Work(corpora.task, built, goals, device, precision, 0, note=lambda text: None, objective=objective)


def candidates(
    ladder: Sequence[Size],
    make: Callable[[Size], ModelSettings],
    sizes: Sizes,
    much: Amount,
    counted_per_row: float,
) -> list[tuple[Size, int, float]]:
    """Each size with the parameters of its stacks, and its FLOPs for each token."""
    found = []
    for size in ladder:
        model = make(size)
        parameters = model_cost(model, sizes).parameters - (sizes.source + sizes.target) * size.width
        found.append((size, max(parameters, 1), flops_per_token(model, sizes, much, counted_per_row)))
    return found
