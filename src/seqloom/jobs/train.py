"""The main job: from files to a trained model."""

import time
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from seqloom.data.order import Order
from seqloom.data.reading import size
from seqloom.jobs.asked import Asked, Command, asked, with_model
from seqloom.jobs.card import card
from seqloom.jobs.corpora import Corpora, corpora, fingerprints, longest_of
from seqloom.jobs.plan import (
    Amount,
    amount,
    budget,
    candidates,
    dropout_for,
    fitting,
    flops_per_token,
    largest,
    speed,
    steps_of,
    throwaway,
)
from seqloom.jobs.recipe import Recipe
from seqloom.jobs.request import compare, remember, request_of
from seqloom.jobs.scores import main_score, validator
from seqloom.jobs.sizes import Size, model_of
from seqloom.jobs.telling import Telling
from seqloom.jobs.versions import header
from seqloom.models import build_model
from seqloom.models.build import Model
from seqloom.models.first_vectors import start_vectors
from seqloom.settings import UserError, dump, load
from seqloom.store import RunFolder
from seqloom.store.atomic import write_text
from seqloom.tasks import Codecs
from seqloom.text import Vocabulary
from seqloom.training.loop import Limits, Loop, Setup, best_weights
from seqloom.training.peak import peak_flops
from seqloom.training.place import Place
from seqloom.training.precision import choose
from seqloom.training.watch import Facts, View

VALIDATIONS = 20  # in a run, if nobody said how many


@dataclass(frozen=True)
class Trained:
    """What a run came to."""

    run: RunFolder
    recipe: Recipe
    corpora: Corpora
    model: Model
    place: Place
    scores: dict[str, float]
    test_scores: dict[str, float]


def train(command: Command, view: View = "auto", began: float | None = None) -> Trained:
    """began: when the command did, as time.monotonic() tells it; its minutes count from then."""
    began = time.monotonic() if began is None else began
    wish = asked(command)
    # a file that is missing is told before all
    request = request_of(wish.recipe, fingerprints(wish.recipe.data))
    for corpus in wish.recipe.data.test:
        size(corpus)
    run = RunFolder(wish.out)
    run.create()
    with run.locked(), Telling(run, "loss", view) as telling:
        if command.force:
            run.clear()
        if run.exists():
            compare(run, request)
            recipe = _as_before(run, wish)
            data = corpora(recipe)
            _refuse_other_vocabulary(run, data)
            write_text(run.recipe, header(request["data"]) + dump(recipe))
        else:
            recipe, data = _planned(wish, command, telling, began)
            data.task.codecs.save(run.vocabulary)
            write_text(run.recipe, header(request["data"]) + dump(recipe))
            remember(run, request)
        for note in (*wish.notes, *data.notes):
            telling.note(note)
        return _run(run, recipe, data, telling, began)


def _as_before(run: RunFolder, wish: Asked) -> Recipe:
    """The run's own recipe, in which all is decided; how long it goes on may have been asked for anew."""
    recipe, new = load(run.recipe, Recipe), wish.recipe.training
    limits: dict[str, float | None] = {"steps": new.steps, "epochs": new.epochs, "minutes": new.minutes}
    update: dict[str, float | None] = {"patience": new.patience, "save_every": new.save_every}
    update |= limits if any(value is not None for value in limits.values()) else {}
    data = recipe.data.model_copy(update={"workers": wish.recipe.data.workers, "test": wish.recipe.data.test})
    return recipe.model_copy(update={"training": recipe.training.model_copy(update=update), "data": data})


def _refuse_other_vocabulary(run: RunFolder, data: Corpora) -> None:
    """It is made anew where the cache was emptied, and other versions of a library may cut text otherwise."""
    if Codecs.load(run.vocabulary).fingerprint != data.task.codecs.fingerprint:
        raise UserError(
            f"{run.vocabulary}: the run began with another vocabulary than is learnt from its data now; "
            "go on with the versions named in its recipe.toml, or start anew with --force"
        )


def _device(name: str) -> torch.device:
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        why = str(error).splitlines()[0]
        raise UserError(f"training.device = '{name}' cannot be used: {why}") from None
    if device.type == "cuda":
        # its plan for each new shape costs more than it brings
        torch.backends.cuda.enable_cudnn_sdp(False)
    return device


def _planned(wish: Asked, command: Command, telling: Telling, began: float) -> tuple[Recipe, Corpora]:
    """All that was left open, decided."""
    recipe, data = wish.recipe, corpora(wish.recipe)
    training, device = recipe.training, _device(wish.recipe.training.device)
    much = amount(data)
    left = None if training.minutes is None else max(1.0, 60 * training.minutes - (time.monotonic() - began))
    precision = choose(training.precision, device)
    if wish.model_open:
        recipe = _with_size(recipe, data, much, left, peak_flops(device, precision.dtype), command)
        data = corpora(recipe)  # other positions may allow other lengths
    work = throwaway(recipe.model, data, device, precision.dtype)
    trial = Order(data.train, 1024, training.seed, data.task.reshape, data.task.marks)
    epochs = None if left is None else speed(work, trial, 0.05 * left) * left / much.tokens
    if epochs is not None and wish.model_open:
        recipe = _with_dropout(recipe, dropout_for(epochs), command)
    run_tokens = None if epochs is None else epochs * much.larger
    batch = budget(training, much, device, run_tokens)
    longest = max((side for part in data.train for side in part.cache.totals.longest.values()), default=1)
    if training.batch == "auto":
        batch, note = fitting(batch, work, trial, longest)
        if note:
            telling.note(note)
    every = training.validate_every
    steps = steps_of(training, much, batch)
    if every == "auto":
        expected = round((run_tokens or 0.0) / (batch * training.accumulate)) if steps is None else steps
        every = max(1, min(1000, expected // VALIDATIONS))
    telling.note(f"precision: {precision.reason}")
    chosen = {
        "batch": batch,
        "validate_every": every,
        "steps": steps,
        "precision": "float32" if precision.dtype is None else "bf16",
    }
    return recipe.model_copy(update={"training": recipe.training.model_copy(update=chosen)}), data


def _with_size(
    recipe: Recipe, data: Corpora, much: Amount, left: float | None, peak: float, command: Command
) -> Recipe:
    def made(size: Size) -> Recipe:
        return with_model(recipe, model_of(size, data.task.shape, 0.1, recipe.text.shared), command.changes)

    per_row = much.tokens / much.examples
    found = candidates(lambda size: made(size).model, data.task.sizes(), much, per_row)
    return replace_model(recipe, made(largest(found, much, left, peak)))


def _with_dropout(recipe: Recipe, dropout: float, command: Command) -> Recipe:
    model = recipe.model.model_dump(mode="json", exclude_none=True, exclude_unset=True) | {"dropout": dropout}
    return replace_model(recipe, with_model(recipe, model, command.changes))


def replace_model(recipe: Recipe, other: Recipe) -> Recipe:
    return recipe.model_copy(update={"model": other.model})


def _run(run: RunFolder, recipe: Recipe, data: Corpora, telling: Telling, began: float) -> Trained:
    training, device = recipe.training, _device(recipe.training.device)
    assert training.batch != "auto"
    assert training.validate_every != "auto"
    torch.manual_seed(training.seed)
    model = build_model(recipe.model, data.task.sizes()).to(device).train()
    much = amount(data)
    per_token = flops_per_token(recipe.model, data.task.sizes(), much, much.tokens / much.examples)
    precision = None if training.precision == "float32" else torch.bfloat16
    telling.main = main_score(data.task)
    longest = longest_of(recipe)
    setup = Setup(
        data.task,
        model,
        Order(data.train, training.batch, training.seed, data.task.reshape, data.task.marks),
        training,
        Limits(steps_of(training, much, training.batch), None),
        validator(data.task, data.valid, training.batch, device),
        training.validate_every,
        device,
        precision,
        recipe.data.workers,
        data.files,
        per_token,
        None if longest is None else longest.tokens,
    )
    if not run.checkpoints.any():
        _start_vectors(model, data, telling)
    loop = Loop(setup, run, telling)
    resumed = loop.resume()
    if training.minutes is not None:
        # what the command has used so far counts; of an earlier go, only its training
        used = time.monotonic() - began
        loop.setup = replace(setup, limits=Limits(setup.limits.steps, max(1.0, 60 * training.minutes - used)))
    run.keep_metrics(loop.place.step if resumed else -1)
    facts = Facts(
        run.path.name, setup.limits.steps, loop.place.step, loop.done, _about(run, recipe, data, model, device)
    )
    telling.begin(facts, per_token, peak_flops(device, precision))
    place = loop.train()
    telling.draw()
    telling.watcher.ended(place.ended or "")
    best_weights(run, model)
    # a mean of models was never validated itself
    scores = dict(setup.validate(model)) if training.average else _scores_at(run, place.best_step)
    test = validator(data.task, data.test, training.batch, device, written=10**9)(model) if data.test else {}
    trained = Trained(run, recipe, data, model, place, scores, test)
    write_text(run.card, card(run, recipe, data, model, place, scores, test, device))
    return trained


def _start_vectors(model: Model, data: Corpora, telling: Telling) -> None:
    """Word vectors that the recipe names."""
    source, target = data.task.codecs.source, data.task.codecs.target
    words = source.pieces(range(len(source)))
    target_words = target.pieces(range(len(target))) if isinstance(target, Vocabulary) else None
    for name, found in start_vectors(model, words, target_words).items():
        telling.note(f"{name}: {found:,} of its words begin from the vectors that the recipe names")


def _scores_at(run: RunFolder, step: int) -> dict[str, float]:
    """Those of the validation after a step."""
    return {
        name.removeprefix("valid."): value
        for line in run.read_metrics()
        if line["step"] == step
        for name, value in line.items()
        if name.startswith("valid.")
    }


def _about(run: RunFolder, recipe: Recipe, data: Corpora, model: Model, device: torch.device) -> list[str]:
    parameters = sum(parameter.numel() for parameter in model.parameters())
    size, training = recipe.model, recipe.training
    held = sum(map(len, data.valid))
    return [
        f"{recipe.task.kind}: {data.examples:,} examples, {held:,} for validation; "
        f"vocabulary {data.task.sizes().source:,} → {data.task.sizes().target:,}",
        f"{size.family}, {size.width} wide, {size.depth} deep, {parameters:,} parameters; "
        f"batches of {training.batch:,} tokens; {device.type}",
        f"run folder: {run.path}",
    ]


def out_of(path: str | Path) -> RunFolder:
    return RunFolder(Path(path))
