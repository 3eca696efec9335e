"""The main job: from files to a trained model."""

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch

from seqloom.data.reading import size
from seqloom.data.reading.number_files import numbers_in, refuse_numbers
from seqloom.data.reading.stored_file import is_folder, stored
from seqloom.evaluation.bleu import ORDER
from seqloom.evaluation.spans import marks_spans
from seqloom.jobs.corpora.build import Corpora, corpora, fingerprints
from seqloom.jobs.corpora.series import frame_words
from seqloom.jobs.corpora.too_long import longest_of
from seqloom.jobs.deciding.asked import Asked, Command, asked
from seqloom.jobs.deciding.decide import decide, device_of
from seqloom.jobs.deciding.plan import amount, steps_of, threads, training_flops_per_token
from seqloom.jobs.learning.card import card
from seqloom.jobs.learning.done_already import done_already
from seqloom.jobs.learning.doubts import doubts
from seqloom.jobs.learning.drawing import objective_of
from seqloom.jobs.learning.forecast_window import last_window
from seqloom.jobs.learning.request import compare, remember, request_of
from seqloom.jobs.learning.scores import main_score, metrics_of, validator
from seqloom.jobs.learning.telling import Telling
from seqloom.jobs.looking.training import training_looks
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.jobs.recipes.versions import header
from seqloom.jobs.starting.start import taken_lines
from seqloom.jobs.starting.start_task import of_start
from seqloom.jobs.trained import Trained
from seqloom.layers.native.library import told_of_waiting
from seqloom.models import build_model
from seqloom.models.build import Model
from seqloom.models.first_vectors import start_vectors
from seqloom.settings import FailedError, UserError, dump, load
from seqloom.settings.words import counted
from seqloom.store import RunFolder
from seqloom.store.atomic import write_text
from seqloom.tasks import Codecs, task_class
from seqloom.tasks.classify import ClassifyTask
from seqloom.tasks.forecast import ForecastTask
from seqloom.tasks.nodes import NodesTask
from seqloom.tasks.tag import TagTask
from seqloom.text import Vocabulary
from seqloom.training.freezing import freeze
from seqloom.training.limits import Limits
from seqloom.training.loop import LESS_IS_BETTER, Loop, Setup, best_weights
from seqloom.training.peak import peak_flops
from seqloom.training.peak_memory import forget_peak
from seqloom.training.place import Place
from seqloom.training.settings import TrainingSettings
from seqloom.training.watch import Facts, View

LAST = 0.5  # seconds for what comes behind the last validation
TELLING = 500  # examples with one label each: with fewer, a point of accuracy is chance


def train(command: Command, view: View = "auto", began: float | None = None) -> Trained:
    """began: when the command did, by the monotonic clock; the minutes count from there."""
    began = time.monotonic() if began is None else began
    wish = asked(command)
    # a file that is missing is told before all
    start = wish.start
    _refuse_folders(wish.recipe)
    request = request_of(wish.recipe, fingerprints(wish.recipe.data), None if start is None else start.facts())
    for corpus in wish.recipe.data.test:
        size(corpus)
    run = RunFolder(wish.out)
    run.create()
    with run.locked(), Telling(run, "loss", view) as telling, told_of_waiting(telling.note):
        if run.exists() and not command.force:
            compare(run, request)
            _refuse_without_state(run)
            recipe, validation = _as_before(run, wish), None
            data = corpora(recipe, None if start is None else Codecs.load(run.vocabulary))
            _refuse_other_vocabulary(run, data)
            write_text(run.recipe, header(request["data"], request.get("start")) + dump(recipe))
        else:
            with of_start(start, wish.recipe, command.data):
                decided = decide(wish, command.changes, telling.note, began)
            recipe, data, validation = decided.recipe, decided.corpora, decided.validation_seconds
            _refuse_best(recipe, data)
            if start is not None or recipe.training.freeze:  # for their errors, before anything is cleared
                trial = build_model(recipe.model, data.task.sizes())
                if start is not None:
                    request["start"] |= {"taken": start.load(trial, recipe, data.task.codecs).lines()}
                freeze(trial, recipe.training.freeze or ())
            run.clear()  # only now: what is wrong with the files or the settings has been said
            data.task.codecs.save(run.vocabulary)
            write_text(run.recipe, header(request["data"], request.get("start")) + dump(recipe))
            remember(run, request)
        for note in (
            *wish.notes,
            *filter(None, taken_lines(run)),
            *data.notes,
            *doubts(recipe, data, start is not None),
        ):
            telling.note(note)
        assert recipe.training.threads != "auto"
        with threads(recipe.training.threads):
            return _run(run, recipe, data, telling, began, validation, wish)


def _refuse_folders(recipe: Recipe) -> None:
    """Only series may be a folder, of images; one of MIDI files stands for them."""
    data = recipe.data
    shape = task_class(recipe.task).shape
    if shape == "series":
        return
    for corpus in (*data.corpora, *data.valid, *data.test):
        for name in () if corpus.midi else corpus.files:
            if is_folder(name):
                found = numbers_in(name)
                if found is not None:
                    raise refuse_numbers(name, shape, found)
                stored(name)  # says what to name instead


def _as_before(run: RunFolder, wish: Asked) -> Recipe:
    """The run's own recipe, in which all is decided; how long it goes on may have been asked for anew."""
    recipe, new = load(run.recipe, Recipe), wish.recipe.training
    limits: dict[str, float | None] = {
        "steps": new.steps,
        "epochs": new.epochs,
        "minutes": new.minutes,
        "flops": new.flops,
    }
    update: dict[str, Any] = {name: getattr(new, name) for name in ("patience", "save_every", "spike", "clip")}
    update |= limits if any(value is not None for value in limits.values()) else {}
    if not wish.rate_open:
        update["optimiser"] = new.optimiser  # of which only a rate can be another
    update |= {"device": new.device} if new.device != "auto" else {}
    # the files may lie elsewhere now: what they hold has been compared
    free = ("workers", "test", "corpora", "valid")
    data = recipe.data.model_copy(update={name: getattr(wish.recipe.data, name) for name in free})
    return recipe.model_copy(update={"training": recipe.training.model_copy(update=update), "data": data})


def _refuse_without_state(run: RunFolder) -> None:
    """A finished model that cannot be gone on with would be written over by one that begins anew."""
    # one that was killed before its first checkpoint may have a model too, but no card
    if run.card.exists() and not run.checkpoints.any():
        raise UserError(
            f"{run.path}: is a finished run, but nothing is left in {run.state.name}/ to go on from; "
            "name another --out, or start anew with --force"
        )


def _refuse_best(recipe: Recipe, data: Corpora) -> None:
    """A score that these examples cannot have cannot choose among models."""
    if recipe.training.best == "span-f1" and isinstance(data.task, TagTask) and not marks_spans(data.task.labels.names):
        raise UserError(
            "training.best = 'span-f1': the tags mark no spans, as O, B-X and I-X do; set training.best = 'accuracy'"
        )
    metrics = metrics_of(data.task, data.valid, recipe.training)
    if recipe.training.best == "bleu" and all(metric.name != "bleu" for metric in metrics):
        raise UserError(
            f"training.best = 'bleu': of the {recipe.training.answered:,} validation examples that are answered "
            f"(training.answered) none has a target of {ORDER} tokens, so that BLEU is 0 whatever is written; set "
            "training.best = 'chrf', 'exact' or 'loss'"
        )


def _refuse_other_vocabulary(run: RunFolder, data: Corpora) -> None:
    """It is made anew where the cache was emptied, and other versions of a library may cut text otherwise."""
    if Codecs.load(run.vocabulary).fingerprint != data.task.codecs.fingerprint:
        raise UserError(
            f"{run.vocabulary}: the run began with another vocabulary than is learnt from its data now; "
            "go on with the versions named in its recipe.toml, or start anew with --force"
        )


def _run(
    run: RunFolder,
    recipe: Recipe,
    data: Corpora,
    telling: Telling,
    began: float,
    validation: float | None,
    wish: Asked,
) -> Trained:
    """validation: seconds that one may take, before the first has been timed."""
    training, device, start = recipe.training, device_of(recipe.training.device), wish.start
    torch.manual_seed(training.seed)
    model = build_model(recipe.model, data.task.sizes()).to(device).train()
    if training.freeze:
        fixed, every = freeze(model, training.freeze), sum(parameter.numel() for parameter in model.parameters())
        telling.note(
            f"frozen: {fixed:,} of {every:,} parameters ({', '.join(training.freeze)}); dropout in them stays as it is"
        )
    telling.main = main_score(data.task) if training.reward is None else training.reward.kind
    setup = _setup(run, recipe, data, model, device, telling)
    if not run.checkpoints.any() and start is not None:
        start.load(model, recipe, data.task.codecs)
    elif not run.checkpoints.any():
        for note in _start_vectors(model, data):
            telling.note(note)
    setup = replace(setup, punctual=wish.recipe.training.validate_every != "auto")
    loop = Loop(setup, run, telling)
    loop.place.validation_seconds = validation or 0.0
    resumed = loop.resume()
    if training.minutes is not None:
        # what the command has used so far counts; of an earlier go, only its training
        used = time.monotonic() - began
        seconds = max(1.0, 60 * training.minutes - used - LAST)
        loop.setup = replace(setup, limits=replace(setup.limits, seconds=seconds))
    run.keep_metrics(loop.place.step if resumed else -1)
    run.looks.keep(loop.place.step if resumed else -1)
    about = _about(run, recipe, data, model, device)
    facts = Facts(run.path.name, setup.limits.steps, loop.place.step, loop.done, about)
    much = amount(data)
    forget_peak(device)
    peak = peak_flops(device, setup.precision)
    over = done_already(run, loop.place, loop.over(), training) if resumed else ""
    facts = replace(facts, best=training.best, found=_found(run, loop.place, training.best), over=over)
    telling.begin(facts, setup.flops_per_token, peak, much.larger / much.tokens)
    place = loop.train()
    if not place.step and setup.limits.steps != 0:
        raise FailedError(
            f"no step was made, as what comes before took all of the time (--minutes {training.minutes:g}); "
            "the same command goes on with what is prepared, or give more"
        )
    telling.draw()
    telling.watcher.ended(place.ended or "")
    return _ended(recipe, data, loop, telling, None if start is None else start.run)


def _setup(
    run: RunFolder, recipe: Recipe, data: Corpora, model: Model, device: torch.device, telling: Telling
) -> Setup:
    training, much, longest = recipe.training, amount(data), longest_of(recipe)
    assert training.batch != "auto"
    assert training.validate_every != "auto"
    return Setup(
        task=data.task,
        model=model,
        order=data.order(training.batch, training.seed),
        training=training,
        limits=Limits(
            steps_of(training, much, training.batch), None, asked_for(training), training.flops, training.epochs
        ),
        validate=validator(
            data.task,
            data.valid,
            training.batch,
            device,
            metrics_of(data.task, data.valid, training),
            training.answered,
            telling.note,
        ),
        validate_every=training.validate_every,
        device=device,
        precision=None if training.precision == "float32" else torch.bfloat16,
        workers=recipe.data.workers,
        files=data.files,
        flops_per_token=training_flops_per_token(recipe, data, much),
        longest=None if longest is None else min(longest.tokens, recipe.data.longest_source or longest.tokens),
        objective=objective_of(training.reward, data.task),
        tells=not isinstance(data.task, ClassifyTask) or sum(map(len, data.valid)) >= TELLING,
        look=training_looks(run, recipe, data, model, device, telling.note),
    )


def _ended(recipe: Recipe, data: Corpora, loop: Loop, telling: Telling, begun: RunFolder | None) -> Trained:
    """What the best model scores, and what the run folder keeps of it. begun: the run that it began from."""
    run, place, setup = loop.run, loop.place, loop.setup
    training, model, device = setup.training, setup.model, setup.device
    assert training.batch != "auto"
    scores = _of_mean(loop, telling) if training.average else None
    if scores is None:
        best_weights(run, model)
        scores = scores_of(run, place)
    metrics = metrics_of(data.task, data.valid, training)
    test = validator(data.task, data.test, training.batch, device, metrics, 10**9)(model) if data.test else {}
    if isinstance(data.task, ForecastTask):
        write_text(run.forecast, last_window(data.task, model, data.test or data.valid, device))
    write_text(run.card, card(run, recipe, data, model, place, scores, test, device, begun, taken_lines(run)))
    return Trained(run, recipe, data, model, place, scores, test)


def _of_mean(loop: Loop, telling: Telling) -> dict[str, float] | None:
    """The scores of the mean of the last models, if it is the run's model: it was never validated itself."""
    scores, place, mean = loop.choose(), loop.place, f"the mean of those of the last {len(loop.place.kept)} validations"
    if scores is None:
        telling.note(f"{mean} (training.average) is worse than the model of step {place.best_step:,}, which is kept")
    elif len(place.kept) > 1:
        telling.note(f"the model is {mean} (training.average): the scores that follow are its own")
    return None if scores is None else dict(scores)


def asked_for(training: TrainingSettings) -> tuple[float | None, ...]:
    # FLOPs last, and only if there are: runs that ended before they could be asked for stay ended
    flops = () if training.flops is None else (training.flops,)
    return training.steps, training.epochs, training.minutes, training.patience, *flops


def _start_vectors(model: Model, data: Corpora) -> Iterator[str]:
    """Word vectors that the recipe names, and how many words have one; a UserError, if the file will not do."""
    source, target = data.task.codecs.source, data.task.codecs.target
    if not isinstance(source, Vocabulary):
        return
    target_words = target.whole_words() if isinstance(target, Vocabulary) else None
    for name, found in start_vectors(model, source.whole_words(), target_words).items():
        every = len(target if name == "target" else source)
        if not found:
            raise UserError(
                f"model.input.vectors: the file has none of the {every:,} pieces of the {name}; is it of this "
                "language, and is the text cut into words (text.source.kind)?"
            )
        share = f"{found:,} of {every:,} pieces ({found / every:.0%})"
        yield f"{name}: {share} begin from the vectors that the recipe names"


def _found(run: RunFolder, place: Place, best: str) -> tuple[int, dict[str, float]] | None:
    """The step and the scores of the best model so far; where the metrics are gone, what the checkpoint keeps of it."""
    if place.best is None:
        return None
    value = -place.best if best in LESS_IS_BETTER else place.best
    return place.best_step, {best: value, "loss": place.best_loss, **scores_of(run, place)}


def scores_of(run: RunFolder, place: Place) -> dict[str, float]:
    """Of the best model, on the validation examples."""
    return {
        name.removeprefix("valid."): value
        for line in run.read_metrics()
        if line["step"] == place.best_step
        for name, value in line.items()
        if name.startswith("valid.")
    }


def _about(run: RunFolder, recipe: Recipe, data: Corpora, model: Model, device: torch.device) -> list[str]:
    parameters = sum(parameter.numel() for parameter in model.parameters())
    size, training = recipe.model, recipe.training
    held = sum(map(len, data.valid))
    if isinstance(data.task, ForecastTask):
        what = f"{counted(data.examples, 'window')}, {held:,} for validation; {frame_words(data.task)}"
    elif isinstance(data.task, NodesTask):
        sizes = data.task.sizes()
        together = ", all read together" if data.task.whole else ""
        what = f"{counted(len(data.task.graph), 'node')}{together}; "
        what += f"{sizes.source:,} features → {sizes.target:,} labels"
    else:
        vocabulary = f"{_what(data)} {data.task.sizes().source:,} → {data.task.sizes().target:,}"
        what = f"{counted(data.examples, 'example')}, {held:,} for validation; {vocabulary}"
    if isinstance(data.task, NodesTask):
        batches = "the graph is one batch" if data.task.whole else f"batches of {training.batch:,} nodes"
    else:
        batches = f"batches of {training.batch:,} tokens"
    return [
        f"{recipe.task.kind}: {what}",
        f"{size.family}, {size.width} wide, {size.depth} deep, {parameters:,} parameters; {batches}; {device.type}",
        *_besides(training),
        f"run folder: {run.path}",
    ]


def _besides(training: TrainingSettings) -> Iterator[str]:
    """Why the loss in training may stand far above that of validation."""
    terms = {
        "label smoothing": training.smoothing,
        "R-Drop": training.r_drop,
        "an activation penalty": training.activation,
        "a temporal penalty": training.temporal,
    }
    named = [f"{name} ({value:g})" for name, value in terms.items() if value]
    if named:
        yield f"the training loss includes {' and '.join(named)}; the validation loss does not"


def _what(data: Corpora) -> str:
    return "vocabulary" if isinstance(data.task.codecs.source, Vocabulary) else "readings → classes"
