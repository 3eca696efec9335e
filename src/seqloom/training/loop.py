"""The loop: steps, validations, checkpoints, until the end; from any checkpoint on, to the same bits."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from seqloom.data.order import Order
from seqloom.layers.native.library import wait_for_all
from seqloom.layers.paths import fast
from seqloom.models.build import Model
from seqloom.models.decoder_only import DecoderOnly
from seqloom.settings import UserError
from seqloom.store import RunFolder, load_weights, read_tensors, weights
from seqloom.store.atomic import reported, write_tensors
from seqloom.store.state import Checkpoint
from seqloom.tasks import Goals, Task
from seqloom.training.averaging import average_weights
from seqloom.training.ema import MovingAverage
from seqloom.training.freed_memory import give_freed_memory, keep_freed_memory
from seqloom.training.interrupts import Interrupts
from seqloom.training.layer_rates import layer_rates
from seqloom.training.limits import Limits
from seqloom.training.nonsense import Result, jump, refuse_nonsense, refuse_validation
from seqloom.training.objective import Objective
from seqloom.training.optimisers import build_optimiser
from seqloom.training.peak_memory import peak_memory
from seqloom.training.place import Place
from seqloom.training.recorder import Recorder
from seqloom.training.schedules import Progress, build_schedule
from seqloom.training.settings import TrainingSettings
from seqloom.training.step import Work
from seqloom.training.steps import Begun, Steps
from seqloom.training.stream import Numbered, short_turns, stream
from seqloom.training.teller import Teller

RECENT = 0.98  # how much of the mean loss each step keeps

SPARE = 1.3  # what is kept free for the last validation, as a multiple of the one before

Scores = Mapping[str, float]
Validate = Callable[[Model], dict[str, float]]
"""Scores of a model on validation examples; among them `loss`."""


@dataclass(frozen=True)
class Setup:
    """What a run is made of. `training` has no "auto" left in it."""

    task: Task
    model: Model
    order: Order
    training: TrainingSettings
    limits: Limits
    validate: Validate
    validate_every: int
    device: torch.device
    precision: torch.dtype | None
    workers: int
    files: tuple[str, ...]
    flops_per_token: float = 0.0
    longest: int | None = None
    """Tokens that a side of an example may have."""
    objective: Objective | None = None
    """What the steps lower; None: the task's own loss."""
    punctual: bool = False
    """Somebody said how often it is validated: then it is, whatever that takes of the time."""
    tells: bool = True
    """Validation has examples enough to tell a good model from a better one."""
    look: Callable[[int, int], None] | None = None
    """Is called at each validation, with its number and the step; the model is the one that was validated."""


class Loop:
    def __init__(self, setup: Setup, run: RunFolder, teller: Teller) -> None:
        training = setup.training
        self.setup, self.run, self.teller, self.training = setup, run, teller, training
        if setup.device.type == "cpu":
            keep_freed_memory()
        self.model = setup.model
        factors = None if training.layer_decay is None else layer_rates(self.model, training.layer_decay)
        self.optimiser = build_optimiser(training.optimiser, self.model, factors)
        self.schedule = build_schedule(training.schedule)
        self.ema = None if training.ema is None else MovingAverage(training.ema, self.model)
        goals = Goals(training.smoothing, training.r_drop, training.activation, training.temporal)
        self.work = Work(
            setup.task,
            self.model,
            goals,
            setup.device,
            setup.precision,
            training.seed,
            note=teller.note,
            objective=setup.objective,
        )
        clip = training.clip or None
        recorder = self._recorder()
        self.records = recorder is not None
        self.steps = Steps(self.work, self.optimiser, self.ema, clip, recorder, self._refuse, self._tell)
        self.place = Place()
        self.saved_at = self.validated_at = self.began = time.monotonic()
        self.validated = 0  # times, since it began or went on

    def _recorder(self) -> Recorder | None:
        setup, training = self.setup, self.training
        if setup.device.type != "cuda" or setup.objective is not None or training.accumulate > 1 or not fast():
            return None
        if setup.task.streams is not None:
            return None  # a recording would read the state of the batch that it was made of
        assert isinstance(training.batch, int)
        clip = training.clip or None
        return Recorder(self.work, self.optimiser, self.ema, clip, training.batch, self.teller.note)

    # -- going on from where a run was

    def resume(self) -> bool:
        """Take up the newest checkpoint, if there is one."""
        checkpoint = self.run.checkpoints.newest()
        if checkpoint is None:
            return False
        try:
            self._take(checkpoint)
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(
                f"{self.run.state}: not a checkpoint of this run ({error}); --force starts the run anew"
            ) from None
        self.began = time.monotonic() - self.place.seconds
        return True

    def _take(self, checkpoint: Checkpoint) -> None:
        numbers, tensors = checkpoint.numbers, checkpoint.tensors
        load_weights(self.model, tensors["weights"])
        self.optimiser.load(tensors.get("optimiser", {}), numbers["optimiser"])
        self.schedule.load(numbers["schedule"])
        if self.ema is not None:
            self.ema.load(tensors["average"], numbers["average"])
        if self.setup.task.streams is not None:
            assert isinstance(self.model, DecoderOnly)
            self.work.carried.load(self.model, tensors.get("carried", {}))
        self.place = Place.of(numbers["place"])
        self._leave_out_damaged()

    def _leave_out_damaged(self) -> None:
        """A mean of fewer models is better than a run that cannot end."""
        for step in list(self.place.kept):
            if not self._whole(self._kept(step)):
                self.place.kept.remove(step)

    def _whole(self, file: Path) -> bool:
        try:
            read_tensors(file)
        except UserError:
            self.teller.note(
                f"{file}: damaged or gone; what is kept at the end (training.average) is chosen without it"
            )
            return False
        return True

    def save(self) -> None:
        self.steps.settle()
        self.place.seconds = self.seconds
        self.place.memory = max(self.place.memory, peak_memory(self.setup.device))
        self.place.ended_for = list(self.setup.limits.asked) if self.place.ended else []
        steps, numbers = self.optimiser.state()
        tensors: dict[str, Mapping[str, Any]] = {"weights": weights(self.model), "optimiser": steps}
        kept: dict[str, Any] = {"optimiser": numbers, "schedule": self.schedule.state(), "place": self.place.numbers()}
        if self.ema is not None:
            tensors["average"], kept["average"] = self.ema.state()
        if self.setup.task.streams is not None:
            tensors["carried"] = self.work.carried.tensors()
        self.run.save(self.place.step, Checkpoint(tensors, kept))
        if self.training.average and self.run.kept.exists():
            # only now: a run that is killed goes on from a checkpoint, and needs what that one names
            named = {self._kept(step) for step in (*self.place.kept, self.place.best_step)}
            for file in set(self.run.kept.iterdir()) - named:
                file.unlink()
        self.saved_at = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    # -- the run

    def train(self) -> Place:
        """Until the limits, the patience or the user end it. The best model is in the run folder then."""
        # a run against the clock does not end twice with the same bits, and has no time to wait
        if self.setup.device.type == "cpu" and self.setup.limits.seconds is None:
            wait_for_all()
        with Interrupts() as stop, short_turns():
            batches = self._stream()
            try:
                self._begin()
                while self.place.ended is None:
                    self._next(batches)
                    if stop.asked and self.place.ended is None:
                        self.save()
                        raise KeyboardInterrupt
            finally:
                batches.close()  # type: ignore[attr-defined]
                give_freed_memory()
        return self.place

    def over(self) -> str | None:
        """Why no step is left to make, if none is: a run that had ended goes on if more is asked for."""
        return self.place.ended if self._stays_ended() else self._over() or self._patience_over()

    def _stays_ended(self) -> bool:
        place = self.place
        return bool(place.ended and place.ended_for and place.ended_for == list(self.setup.limits.asked))

    def _begin(self) -> None:
        """One without steps leaves its first weights; one without the time for a step leaves none, and is not done."""
        place = self.place
        if self._stays_ended():
            return
        place.ended = self.over()
        if place.ended and (place.step or self.setup.limits.steps == 0):
            if place.best is None:
                self.validate()
            self.save()

    def _next(self, batches: Iterator[Numbered]) -> None:
        place = self.place
        self.step([next(batches) for _ in range(self.training.accumulate)])
        place.ended = self._over()
        due = place.step % self.setup.validate_every == 0 and self._affordable()
        if place.ended or due:
            self.steps.settle()
            self.validate()
        if place.ended or due or time.monotonic() - self.saved_at > 60 * self.training.save_every:
            self.save()

    def _affordable(self) -> bool:
        """A run against the clock does not spend much more than a tenth of its time on validations.

        Where steps are recorded, the first one takes much longer than others, as they are too: the second, which tells
        how long they take, comes soon. One that would leave no time for the last is left to that one.
        """
        if self.setup.limits.seconds is None:
            return True
        place, since = self.place, time.monotonic() - self.validated_at
        first = self.validated == 1 or (self.validated == 0 and place.validations == 1)
        if first and self.records:
            return self.setup.punctual or since >= place.validation_seconds
        late = self._share(1) >= 1
        return not late and (self.setup.punctual or since >= 9 * place.validation_seconds)

    def _over(self) -> str | None:
        """Why the run is at its end, if it is."""
        if self.done < 1:
            return None
        limits, place = self.setup.limits, self.place
        if limits.steps is not None and place.step >= limits.steps:
            return "all steps are done"
        if limits.epochs is not None and place.epochs >= limits.epochs:
            return "all epochs are done"
        return "all FLOPs are spent" if limits.flops is not None and place.flops >= limits.flops else "the time is over"

    def _patience_over(self) -> str | None:
        waited = self.place.since_best
        over = self.training.patience and waited >= self.training.patience
        return f"no better {self.training.best} in {waited} validations" if over else None

    @property
    def done(self) -> float:
        """The share of the run that is over; the time that its last validation will take is kept free."""
        return self._share()

    def _share(self, more: int = 0) -> float:
        """As `done`, where so many validations more are still to come."""
        validations = SPARE + bool(self.training.average) + more  # a mean is validated once more
        return self.setup.limits.done(self.place, self.seconds, validations * self.place.validation_seconds)

    def step(self, batches: list[Numbered]) -> None:
        place = self.place
        only = [batch for *_, batch in batches]
        factor = self.schedule.factor(Progress(place.step + 1, self.done))
        tokens = sum(batch.count for batch in only)
        begun = Begun(place.step + 1, factor, jump(place, self.training.spike, tokens), tokens, only)
        place.preparing += self.steps.take(begun)
        place.step += 1
        (place.epoch, place.pool, place.batch), place.epochs, _ = batches[-1]
        place.batch += 1
        place.tokens += tokens
        place.flops += tokens * self.setup.flops_per_token

    def _refuse(self, step: Begun, loss: float, norm: float) -> None:
        result = Result(step.number, loss, norm, step.limit)
        refuse_nonsense(self.work, self.place, result, step.batches, self.setup.files)

    def _tell(self, step: Begun, loss: float, norm: float, figures: Scores) -> None:
        place = self.place
        apart = loss - (loss if place.mean_loss is None else place.mean_loss)
        place.mean_loss = loss - RECENT * apart
        place.mean_square = RECENT * place.mean_square + (1 - RECENT) * apart**2
        rate = self.optimiser.rate(step.factor)
        metrics = {"step": step.number, "loss": loss, "rate": rate, "gradient": norm, **figures}
        self.run.add_metrics(metrics)
        steps = self.setup.limits.steps  # of which this one is done, though the place may be before it
        self.teller.step(metrics, step.tokens, max(self.done, min(1.0, step.number / steps)) if steps else self.done)

    def _stream(self) -> Iterator[Numbered]:
        setup, place = self.setup, self.place
        begin = place.epoch, place.pool, place.batch
        return stream(setup.task, setup.order, self.training.seed, setup.longest, setup.workers, begin)

    # -- what is kept

    def validate(self) -> None:
        place, began = self.place, time.monotonic()
        with self._averaged():
            scores = dict(self.setup.validate(self.model))
            value = self._value(scores)
            refuse_validation(self.model, place.step, self.training.best, value, self.setup.validate)
            # of models that are equal by the score, the one with the lower loss: a score may stay at 0 for long
            better = place.best is None or (value, -scores["loss"]) > (place.best, -place.best_loss)
            if better:
                place.best, place.best_loss = value, scores["loss"]
                place.best_step, place.since_best = place.step, 0
            else:
                place.since_best += 1
            if self.training.average:
                self._keep()
            elif better:
                write_tensors(self.run.model, weights(self.model))
            if self.setup.look is not None:
                self.setup.look(place.validations, place.step)
            place.validations += 1
        self.validated_at = time.monotonic()
        place.validation_seconds = self.validated_at - began
        self.validated += 1
        place.validating += place.validation_seconds
        self.schedule.saw(value)
        place.ended = place.ended or self._patience_over()
        line = {"step": place.step, **{f"valid.{name}": score for name, score in scores.items()}}
        self.run.add_metrics(line)
        self.teller.validated(line, better)

    def _averaged(self) -> AbstractContextManager[object]:
        return nullcontext() if self.ema is None else self.ema.applied(self.model)

    def _value(self, scores: Scores) -> float:
        name = self.training.best
        if name not in scores:
            raise UserError(f"training.best = {name!r}, but the scores are {', '.join(scores)}")
        return -scores[name] if name in LESS_IS_BETTER else scores[name]

    def _keep(self) -> None:
        """Of the last validated models the mean is the run's model."""
        place = self.place
        with reported(self.run.kept):
            self.run.kept.mkdir(parents=True, exist_ok=True)
        write_tensors(self._kept(place.step), weights(self.model))
        if place.step not in place.kept:
            place.kept.append(place.step)
        place.kept = place.kept[-self.training.average :]
        write_tensors(self.run.model, average_weights([self._kept(step) for step in place.kept]))

    def choose(self) -> Scores | None:
        """The mean of the last models is the run's model, unless the best of all is better by score and by loss.

        One of these alone cannot tell, and of few examples neither. Returns the scores of the mean; None, if it is the
        best, which has been validated.
        """
        place, best = self.place, self._kept(self.place.best_step)
        # one that had ended before may have chosen the best, which stays there until this is known again
        files = [self._kept(step) for step in place.kept]
        mean = average_weights(files) if files else read_tensors(self.run.model)
        load_weights(self.model, mean)
        scores = self.setup.validate(self.model)
        value = self._value(scores)
        good = place.best is None or value >= place.best or scores["loss"] <= place.best_loss
        if good or not self.setup.tells or not self._whole(best):
            write_tensors(self.run.model, mean)
            return scores
        write_tensors(self.run.model, read_tensors(best))
        best_weights(self.run, self.model)
        return None

    def _kept(self, step: int) -> Path:
        return self.run.kept / f"step-{step:08}.safetensors"


LESS_IS_BETTER = ("loss", "perplexity", "mse", "mae", "crps")


def best_weights(run: RunFolder, model: Model) -> None:
    """The run's model, as it would be loaded later."""
    load_weights(model, read_tensors(run.model))
