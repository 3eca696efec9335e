"""What a recipe leaves open, decided by the data, the time and this machine."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from seqloom.jobs.corpora.build import Corpora, corpora
from seqloom.jobs.deciding import rates
from seqloom.jobs.deciding.asked import Asked
from seqloom.jobs.deciding.chosen import with_model
from seqloom.jobs.deciding.plan import (
    SMALL,
    TRIAL,
    Amount,
    about_steps,
    amount,
    batch_of,
    budget_of,
    candidates,
    dropout_for,
    fitting,
    foreseen,
    grown,
    largest,
    step_seconds,
    steps_for,
    steps_of,
    threads,
    threads_of,
    throwaway,
    tie_for,
    timed_budget,
    training_flops_per_token,
    trial_of,
    update_seconds,
    validation_seconds,
    windows_budget,
)
from seqloom.jobs.deciding.sizes import SERIES_SIZES, SIZES, Size, heads_for, model_of
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.layers.images import Images
from seqloom.layers.kernels import make_ready
from seqloom.layers.native.library import wait_for_all
from seqloom.models.settings import ModelSettings
from seqloom.settings import UserError
from seqloom.training.calibration import pace_here
from seqloom.training.figures import duration
from seqloom.training.load import load_of
from seqloom.training.optimisers import OptimiserSettings
from seqloom.training.pace import Pace
from seqloom.training.peak import peak_flops
from seqloom.training.precision import GAIN, Choice, choose
from seqloom.training.schedules import Constant, Cosine, InverseSqrt, Plateau, ScheduleSettings
from seqloom.training.settings import TrainingSettings
from seqloom.training.step import Work

VALIDATIONS = 20  # in a run, if nobody said how many
APART = 25  # steps between two validations, at least
LONGEST_WARMUP = 0.1  # of a run against the clock
WORTH_MEASURING = 5.0  # minutes of a run
AN_HOUR = 3600.0  # what a model is sized for, if no time is set

Note = Callable[[str], None]


@dataclass(frozen=True)
class Decided:
    """A recipe in which nothing is open. The seconds are None, if there was no need to measure."""

    recipe: Recipe
    corpora: Corpora
    step_seconds: float | None
    validation_seconds: float | None = None


def device_of(name: str, asked: str = "training.device") -> torch.device:
    """asked: what named it, for the message."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        why = str(error).splitlines()[0]
        if why.startswith("Expected one of"):  # and then come all that torch knows
            why = "there is no such device"
        here = "auto, cpu or cuda" if torch.cuda.is_available() else "auto or cpu"
        raise UserError(f"{asked} = '{name}' cannot be used: {why}; take {here}") from None
    if device.type == "cuda":
        # its plan for each new shape costs more than it brings
        torch.backends.cuda.enable_cudnn_sdp(False)
    return device


def decide(wish: Asked, changes: Sequence[str], note: Note, began: float, measure: bool = False) -> Decided:
    """began: when the command did, by the monotonic clock. measure: also where nothing depends on it."""
    known = None if wish.start is None else wish.start.known(wish.recipe)
    recipe, data = wish.recipe, corpora(wish.recipe, known)
    training, device = recipe.training, device_of(wish.recipe.training.device)
    if device.type == "cuda":
        make_ready()
    much, precision = amount(data), choose(training.precision, device)
    left = None if training.minutes is None else max(1.0, 60 * training.minutes - (time.monotonic() - began))
    pace = _pace(device, training, note) if wish.model_open or measure or left is not None else None
    if wish.model_open:
        recipe = _with_size(recipe, data, much, left, peak_flops(device, precision.dtype), changes, pace)
        data = corpora(recipe, known)  # other positions may allow other lengths
    if left is None and device.type == "cpu":
        wait_for_all()  # a run without a clock needs them, and the first trial step would make some one by one
    work = throwaway(recipe.model, data, device, precision.dtype, training)
    if precision.dtype is not None and device.type == "cpu" and training.precision == "auto":
        precision, work = _in_fact(precision, work, throwaway(recipe.model, data, device, None, training), data)
    count = threads_of(work, data, training.seed) if training.threads == "auto" else training.threads
    with threads(count):
        batch, took = _batch(training, work, data, left, note)
        if took is None and (measure or left is not None):
            # a recipe's batch may be far too large for this machine to try: a small one tells as much
            trial = trial_of(data, batch, device)
            took = step_seconds(work, data.order(trial, training.seed))
            took = grown(took, trial, batch, recipe.model, data, pace)
        if took is not None:
            took += update_seconds(work, training.optimiser) / training.accumulate
    validation = None if took is None else validation_seconds(data, took / batch, training.answered)
    expected = _expected(recipe, data, much, batch)
    if left is not None and took is not None and validation is not None:
        in_time = _in_time(training, batch, left, took, validation)
        expected = in_time if expected is None else min(expected, in_time)
    if wish.model_open:
        epochs = (expected or 0) * batch * training.accumulate / much.larger
        recipe = _with_model(recipe, {"dropout": dropout_for(epochs), **tie_for(epochs, recipe.model.tie)}, changes)
    note(f"precision: {precision.reason}")
    every = training.validate_every
    chosen: dict[str, Any] = {
        "batch": batch,
        "validate_every": max(APART, min(1000, (expected or 0) // VALIDATIONS)) if every == "auto" else every,
        "steps": steps_of(training, much, batch),
        "precision": "float32" if precision.dtype is None else "bf16",
        "threads": count,
        "device": str(device),
    }
    if wish.rate_open:
        chosen["optimiser"] = rates.optimiser_for(
            training.optimiser, recipe.model.width, batch * training.accumulate, expected or 0
        )
    own = any(change.strip().startswith("training.schedule") for change in changes)
    if wish.bounded or training.minutes is not None or training.flops is not None:
        if own:
            _long_warmup(training.schedule, expected or 0, "it stays, as it was set", note)
        else:
            chosen["schedule"] = _ending(training, expected or 0, note)
    recipe = recipe.model_copy(update={"training": recipe.training.model_copy(update=chosen)})
    return Decided(recipe, data, took, validation)


def _in_fact(half: Choice, work: Work, plain: Work, data: Corpora) -> tuple[Choice, Work]:
    """bf16 on a CPU only if a step of this very model is faster with it: float32 has kernels of our own."""
    if sum(parameter.numel() for parameter in plain.model.parameters()) < SMALL:  # where chance would choose
        return Choice(None, "float32: the model is too small to gain by bf16"), plain
    wait_for_all()
    order = data.order(trial_of(data, TRIAL, work.device), 0)
    in_half, in_full = step_seconds(work, order), step_seconds(plain, order)
    words = f"a step took {in_half * 1e3:.0f} ms in bf16 and {in_full * 1e3:.0f} ms in float32"
    if in_full < GAIN * in_half:
        return Choice(None, f"float32: {words}"), plain
    return Choice(half.dtype, f"bf16: {words}"), work


def _in_time(training: TrainingSettings, batch: int, left: float, took: float, validation: float) -> int:
    """Steps that fit into the seconds that are left; a UserError, if none does. took: seconds of a batch."""
    each = took * training.accumulate
    if training.validate_every != "auto":  # then all of them are made
        each += validation / training.validate_every
    steps = round(min((left - validation) / each, 1e9))
    if steps < 1:
        assert training.minutes is not None
        raise UserError(
            f"a step of {batch * training.accumulate:,} tokens takes about {took * training.accumulate:.0f} s and "
            f"the validation {validation:.0f} s, too long for {duration(60 * training.minutes)}; give more, or set "
            "training.batch or the model smaller"
        )
    return steps


def _expected(recipe: Recipe, data: Corpora, much: Amount, batch: int) -> int | None:
    """Steps, as far as they are known without a clock."""
    training = recipe.training
    steps = about_steps(training, much, batch)
    if training.flops is None:
        return steps
    per_token = training_flops_per_token(recipe, data, much)
    paid = steps_for(training.flops, per_token, much, batch * training.accumulate)
    return paid if steps is None else min(steps, paid)


def _ending(training: TrainingSettings, steps: int, note: Note) -> ScheduleSettings:
    """A schedule that is at its end when the time is; a recipe's own may be made for many more steps."""
    schedule = training.schedule
    if isinstance(schedule, InverseSqrt | Constant | Plateau):
        note(
            f"the schedule {schedule.kind} has no end: cosine, so that the rate is down when the run ends "
            f"(to have it all the same: --set training.schedule.kind={schedule.kind})"
        )
        schedule = Cosine(warmup=schedule.warmup) if schedule.warmup else Cosine()
    if _long_warmup(schedule, steps, f"{LONGEST_WARMUP:.0%} of the run", note):
        return schedule.model_copy(update={"warmup": LONGEST_WARMUP})
    return schedule


def _long_warmup(schedule: ScheduleSettings, steps: int, what: str, note: Note) -> bool:
    """Whether a run would hardly get behind it, and what becomes of it, told."""
    if not isinstance(schedule.warmup, int) or schedule.warmup <= LONGEST_WARMUP * steps:
        return False
    note(f"a warm-up of {schedule.warmup:,} steps is too long for about {steps:,}: {what}")
    return True


def _batch(
    training: TrainingSettings, work: Work, data: Corpora, left: float | None, note: Note
) -> tuple[int, float | None]:
    """Tokens of a batch; and how long a step takes, if that was measured."""
    if training.batch != "auto":
        return training.batch, None
    batch, took = budget_of(amount(data), work.device), None
    if data.task.shape == "timeline":
        batch = windows_budget(data)
    elif left is not None:
        batch, took = timed_budget(work, data, training.seed, left)
    batch, lowered = fitting(batch, work, data, training.seed)
    if lowered:
        note(lowered)
    return batch, None if lowered else took


def _with_size(
    recipe: Recipe,
    data: Corpora,
    much: Amount,
    left: float | None,
    peak: float,
    changes: Sequence[str],
    pace: Pace | None,
) -> Recipe:
    def made(size: Size) -> Recipe:
        model = model_of(size, data.task.shape, 0.1, recipe.text.shared)
        if isinstance(recipe.model.input, Images):  # chosen for the form of the pictures, whatever the size
            model |= recipe.model.model_dump(mode="json", include={"input", "positions"}, exclude_unset=True)
        return with_model(recipe, model, changes)

    width = recipe.model.width if any(change.startswith("model.width=") for change in changes) else None
    series = data.task.shape == "timeline"
    ladder = SERIES_SIZES if series else SIZES
    sizes = ladder if width is None else tuple(Size(width, size.depth, heads_for(width)) for size in ladder)
    per_row = much.tokens / much.examples
    found = candidates(sizes, lambda size: made(size).model, data.task.sizes(), much, per_row)
    if series:
        found = [one for one in found if one[1] <= much.examples] or found[:1]
    foretold = None
    if pace is not None and foreseen(made(sizes[0]).model, data):
        foretold = {size: _each(made(size).model, data, much, recipe.training.optimiser, pace) for size in sizes}
    return _replaced(recipe, made(largest(found, much, left or AN_HOUR, peak, foretold)))


def _each(model: ModelSettings, data: Corpora, much: Amount, optimiser: OptimiserSettings, pace: Pace) -> float:
    """Seconds for each token that counts, in batches of a usual size."""
    tokens = budget_of(much, torch.device("cpu"))
    step = pace.predict(load_of(model, data.task.sizes(), batch_of(much, tokens), optimiser))
    return step / (tokens * much.tokens / much.larger)


def _pace(device: torch.device, training: TrainingSettings, note: Note) -> Pace | None:
    """Of this CPU, if it was measured before; it is, where the time for it is small beside what there is."""
    if device.type != "cpu":
        return None
    found = pace_here()
    if found is None and training.minutes is not None and training.minutes >= WORTH_MEASURING:
        note("measuring how fast this machine trains (once; half a minute, longer where others use it)")
        found = pace_here(measure=True)
    return found


def _with_model(recipe: Recipe, update: dict[str, Any], changes: Sequence[str]) -> Recipe:
    model = recipe.model.model_dump(mode="json", exclude_none=True, exclude_unset=True) | update
    return _replaced(recipe, with_model(recipe, model, changes))


def _replaced(recipe: Recipe, other: Recipe) -> Recipe:
    return recipe.model_copy(update={"model": other.model})
