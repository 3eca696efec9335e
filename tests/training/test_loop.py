"""The loop: when it ends, which model it keeps, and what it says when numbers are none."""

import json
import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from seqloom.models.build import Model
from seqloom.settings import FailedError, UserError
from seqloom.store import weights
from seqloom.training import loop as loop_module
from seqloom.training.limits import Limits
from seqloom.training.loop import Loop
from seqloom.training.place import Place
from tests.training.small import Heard, Small, scripted


def _metrics(loop: Loop) -> list[dict[str, Any]]:
    return [json.loads(line) for line in loop.run.metrics.read_text().splitlines()]


def _saved(loop: Loop) -> dict[str, torch.Tensor]:
    return load_file(loop.run.model)


def test_steps(made: Small) -> None:
    loop = made.loop(limits=Limits(7, None), every=3)
    place = loop.train()
    assert (place.step, place.ended) == (7, "all steps are done")
    lines = _metrics(loop)
    assert [line["step"] for line in lines if "loss" in line] == [1, 2, 3, 4, 5, 6, 7]
    assert [line["step"] for line in lines if "valid.loss" in line] == [3, 6, 7]


def test_the_share_that_is_told_counts_the_step_that_is_told(made: Small) -> None:
    """The last of 4 is told to be all, not 75 %."""
    heard = Heard()
    made.loop(limits=Limits(4, None), heard=heard).train()
    assert heard.done == [0.25, 0.5, 0.75, 1.0]


def test_no_steps_at_all(made: Small) -> None:
    model = made.model()
    first = {name: tensor.clone() for name, tensor in weights(model).items()}
    loop = made.loop(model=model, limits=Limits(0, None))
    assert (loop.train().step, loop.place.ended) == (0, "all steps are done")
    saved = _saved(loop)
    assert all(saved[name].equal(tensor) for name, tensor in first.items())
    assert loop.run.checkpoints.newest() is not None


def test_time(made: Small) -> None:
    loop = made.loop(limits=Limits(None, 0.5))
    place = loop.train()
    assert place.ended == "the time is over"
    assert place.step
    assert loop.seconds < 60  # a busy machine takes its time for a step


def test_the_rate_falls_until_the_time_is_over(made: Small) -> None:
    heard = Heard()
    loop = made.loop(limits=Limits(None, 2.0), schedule={"kind": "linear", "warmup": 0}, heard=heard, every=10**6)
    loop.train()
    rates = [step["rate"] for step in heard.steps]
    assert rates == sorted(rates, reverse=True)
    assert rates[-1] < 0.5 * rates[0]  # the last step of a busy machine may begin early


def test_early_stopping(made: Small) -> None:
    loop = made.loop(validate=scripted([5, 4, 4.5, 3, 3.5, 3.2, 9]), limits=Limits(100, None), patience=2)
    place = loop.train()
    assert place.ended == "no better loss in 2 validations"
    assert (place.step, place.best_step, place.best) == (30, 20, -3)


def test_a_run_that_ran_out_of_patience_does_not_go_on_unless_it_is_given_more(made: Small) -> None:
    made.loop(validate=scripted([5, 6, 7]), limits=Limits(100, None), patience=2).train()
    again = made.loop(limits=Limits(100, None), patience=2)
    assert again.resume()
    assert (again.train().step, again.place.ended) == (15, "no better loss in 2 validations")
    more = made.loop(validate=scripted([6]), limits=Limits(100, None), patience=3)
    assert more.resume()
    assert (more.train().step, more.place.ended) == (20, "no better loss in 3 validations")


def test_the_rate_falls_on_a_plateau(made: Small) -> None:
    heard = Heard()
    schedule = {"kind": "plateau", "patience": 2, "factor": 0.5}
    values = scripted([5, 4, 4, 4, 3, 3, 3])
    made.loop(validate=values, limits=Limits(30, None), schedule=schedule, heard=heard).train()
    rates = [step["rate"] for step in heard.steps]
    assert rates == [1e-3] * 20 + [0.5e-3] * 10


def test_no_examples(made: Small) -> None:
    loop = made.loop()
    loop.setup = replace(loop.setup, order=replace_corpora(loop, []))
    with pytest.raises(FailedError, match="there is no example to train on"):
        loop.train()


def replace_corpora(loop: Loop, corpora: list[Any]) -> Any:
    return type(loop.setup.order)(corpora, 60, 1)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_longer_run_is_a_run_that_was_made_longer(made: Small, workers: int) -> None:
    whole = made.loop(model=made.model(dropout=0.1), out="whole", limits=Limits(20, None), workers=workers)
    whole.train()
    made.loop(model=made.model(dropout=0.1), out="parts", limits=Limits(10, None), workers=workers).train()
    rest = made.loop(model=made.model(dropout=0.1), out="parts", limits=Limits(20, None), workers=workers)
    assert rest.resume()
    rest.run.keep_metrics(rest.place.step)
    rest.train()
    assert _metrics(rest) == _metrics(whole)
    one, other = weights(whole.model), weights(rest.model)
    assert all(one[name].equal(other[name]) for name in one)
    assert _saved(whole).keys() == _saved(rest).keys()
    assert all(tensor.equal(_saved(rest)[name]) for name, tensor in _saved(whole).items())


def test_a_checkpoint_of_another_model(made: Small) -> None:
    made.loop(limits=Limits(1, None)).train()
    other = made.loop(model=made.model(width=32))
    with pytest.raises(UserError, match=r"state: not a checkpoint of this run \(.*shape.*\); --force starts"):
        other.resume()


def test_the_best_is_kept(made: Small) -> None:
    models: list[dict[str, torch.Tensor]] = []
    left = iter([5, 2, 3])

    def validate(model: Model) -> dict[str, float]:
        models.append({name: tensor.clone() for name, tensor in weights(model).items()})
        return {"loss": next(left)}

    loop = made.loop(validate=validate, limits=Limits(15, None))
    loop.train()
    saved = _saved(loop)
    assert all(saved[name].equal(tensor) for name, tensor in models[1].items())
    assert any(not saved[name].equal(tensor) for name, tensor in models[2].items())


def test_the_best_by_a_score_of_which_more_is_better(made: Small) -> None:
    loop = made.loop(validate=scripted([1, 9, 4], "exact"), best="exact", limits=Limits(15, None))
    place = loop.train()
    assert (place.best, place.best_step) == (9, 10)


def test_between_equals_the_loss_decides(made: Small) -> None:
    left = iter([(0.0, 3.0), (0.0, 2.0), (0.0, 2.5)])

    def validate(model: Model) -> dict[str, float]:
        exact, loss = next(left)
        return {"loss": loss, "exact": exact}

    place = made.loop(validate=validate, best="exact", limits=Limits(15, None)).train()
    assert place.best_step == 10


def test_flops_end_a_run(made: Small) -> None:
    loop = made.loop(limits=Limits(None, None, flops=1000.0))
    loop.setup = replace(loop.setup, flops_per_token=3.0)
    place = loop.train()
    assert place.ended == "all FLOPs are spent"
    assert place.flops == 3.0 * place.tokens
    assert 1000.0 <= place.flops < 1000.0 + 3.0 * place.tokens / place.step * 2
    assert loop.done == 1.0
    first = made.loop(limits=Limits(2, None, flops=1e9), out="other").train()
    assert (first.step, first.ended) == (2, "all steps are done")


def _batches_of_epochs(loop: Loop) -> list[int]:
    return [sum(1 for _ in loop.setup.order.epoch(epoch)) for epoch in range(4)]


@pytest.mark.parametrize("stop", [1, 4, 10])
def test_epochs_end_where_all_examples_were_seen(made: Small, stop: int) -> None:
    """Wherever the run was stopped on its way."""
    counts = _batches_of_epochs(made.loop())
    made.loop(limits=Limits(stop, None, epochs=3.0)).train()
    loop = made.loop(limits=Limits(None, None, epochs=3.0))
    assert loop.resume()
    place = loop.train()
    assert (place.step, place.epochs, place.ended) == (sum(counts[:3]), 3.0, "all epochs are done")
    assert loop.done == 1.0


def test_half_an_epoch(made: Small) -> None:
    counts = _batches_of_epochs(made.loop())
    place = made.loop(limits=Limits(None, None, epochs=1.5)).train()
    assert place.step == counts[0] + math.ceil(counts[1] / 2)


def test_memory_and_the_time_of_validations_are_kept(made: Small) -> None:
    place = made.loop(limits=Limits(4, None), every=2).train()
    assert place.memory > 2e7
    assert 0 < place.validation_seconds < place.validating < place.seconds
    assert Place.of(place.numbers()) == place


def test_the_most_memory_of_all_goes_is_kept(made: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is gone on with may need less than it did."""
    peaks = iter([5e9, 7e9, 6e9])
    monkeypatch.setattr(loop_module, "peak_memory", lambda device: next(peaks))
    for steps, most in (2, 5e9), (4, 7e9), (6, 7e9):
        loop = made.loop(limits=Limits(steps, None), every=100)
        loop.resume()
        assert loop.train().memory == most


def test_a_run_that_ended_for_its_time_stays_ended(made: Small) -> None:
    made.loop(limits=Limits(None, 0.3, (None, None, 0.1))).train()
    again = made.loop(limits=Limits(None, 0.6, (None, None, 0.1)))
    assert again.resume()
    before = again.place.step
    assert again.train().step == before
    more = made.loop(limits=Limits(None, 5.0, (None, None, 0.2)))
    assert more.resume()
    more.setup = replace(more.setup, limits=replace(more.setup.limits, steps=before + 3))
    assert more.train().step == before + 3


def test_a_score_that_is_not_there(made: Small) -> None:
    with pytest.raises(UserError, match=r"training.best = 'rouge', but the scores are loss"):
        made.loop(best="rouge").train()


def test_the_mean_of_the_last(made: Small) -> None:
    models: list[dict[str, torch.Tensor]] = []

    def validate(model: Model) -> dict[str, float]:
        models.append({name: tensor.clone() for name, tensor in weights(model).items()})
        return {"loss": 1.0}

    loop = made.loop(validate=validate, average=2, limits=Limits(15, None))
    place = loop.train()
    assert place.kept == [10, 15]
    steps = [int(file.stem.removeprefix("step-")) for file in loop.run.kept.iterdir()]
    assert sorted(steps) == [5, 10, 15]  # the first is the best: no later one was better
    for name, tensor in _saved(loop).items():
        torch.testing.assert_close(tensor, (models[-2][name] + models[-1][name]) / 2)


@pytest.mark.parametrize(
    ("of_mean", "kept"),
    [((2.0, 0.7), "mean"), ((4.0, 0.9), "mean"), ((2.0, 0.9), "mean"), ((4.0, 0.7), "best")],
)
def test_the_mean_is_kept_unless_the_best_is_better(made: Small, of_mean: tuple[float, float], kept: str) -> None:
    """By the loss and by the score; the best is of step 5: loss 3, score 0.8."""
    left = iter([(3.0, 0.8), (5.0, 0.5), (5.0, 0.5), of_mean])

    def validate(model: Model) -> dict[str, float]:
        return dict(zip(("loss", "exact"), next(left), strict=True))

    loop = made.loop(validate=validate, best="exact", average=2, limits=Limits(15, None))
    loop.train()
    mean, best = _saved(loop), load_file(loop.run.kept / "step-00000005.safetensors")
    scores = loop.choose()
    assert scores == ({"loss": of_mean[0], "exact": of_mean[1]} if kept == "mean" else None)
    wanted = mean if kept == "mean" else best
    assert not all(mean[name].equal(tensor) for name, tensor in best.items())
    for found in _saved(loop), weights(loop.model):
        assert all(found[name].equal(tensor) for name, tensor in wanted.items())


def test_few_examples_cannot_tell_what_is_better(made: Small) -> None:
    loop = made.loop(validate=scripted([3, 5, 5, 9]), average=2, limits=Limits(15, None))
    loop.setup = replace(loop.setup, tells=False)
    loop.train()
    mean = _saved(loop)
    assert loop.choose() == {"loss": 9}
    assert all(tensor.equal(mean[name]) for name, tensor in _saved(loop).items())


def test_what_was_chosen_is_chosen_again(made: Small) -> None:
    """A run that had ended and is asked for again."""
    made.loop(validate=scripted([1, 5, 5]), average=2, limits=Limits(15, None)).train()
    for _ in range(2):
        loop = made.loop(validate=scripted([9]), average=2, limits=Limits(15, None))
        assert loop.resume()
        assert loop.choose() is None
        best = load_file(loop.run.kept / "step-00000005.safetensors")
        assert all(tensor.equal(best[name]) for name, tensor in _saved(loop).items())


def test_who_is_stopped_while_it_is_chosen_again_has_what_was_chosen(made: Small) -> None:
    made.loop(validate=scripted([1, 5, 5, 9]), average=2, limits=Limits(15, None)).train()
    loop = made.loop(validate=scripted([9]), average=2, limits=Limits(15, None))
    assert loop.resume()
    assert loop.choose() is None
    chosen = _saved(loop)

    def stopped(model: Model) -> dict[str, float]:
        raise KeyboardInterrupt

    again = made.loop(validate=stopped, average=2, limits=Limits(15, None))
    assert again.resume()
    with pytest.raises(KeyboardInterrupt):
        again.choose()
    assert all(tensor.equal(chosen[name]) for name, tensor in _saved(again).items())


def test_a_damaged_one_of_the_last_is_left_out(made: Small) -> None:
    made.loop(validate=scripted([5, 4, 3]), average=3, limits=Limits(15, None)).train()
    file, heard = made.folder / "run" / "state" / "kept" / "step-00000010.safetensors", Heard()
    file.write_bytes(file.read_bytes()[:-100])
    loop = made.loop(validate=scripted([1]), average=3, limits=Limits(15, None), heard=heard)
    assert loop.resume()
    assert heard.notes == [f"{file}: damaged or gone; what is kept at the end (training.average) is chosen without it"]
    loop.choose()
    others = [load_file(file.with_name(f"step-000000{step}.safetensors")) for step in ("05", "15")]
    for name, tensor in _saved(loop).items():
        torch.testing.assert_close(tensor, (others[0][name] + others[1][name]) / 2)


def test_where_all_of_the_last_are_gone_the_model_stays(made: Small) -> None:
    loop = made.loop(validate=scripted([5, 4, 3]), average=2, limits=Limits(15, None))
    loop.train()
    mean = _saved(loop)
    for file in loop.run.kept.iterdir():
        file.unlink()
    again = made.loop(validate=scripted([9]), average=2, limits=Limits(15, None))
    assert again.resume()
    assert again.choose() == {"loss": 9}
    for found in _saved(again), weights(again.model):
        assert all(tensor.equal(mean[name]) for name, tensor in found.items())


def test_a_damaged_best_leaves_the_mean(made: Small) -> None:
    loop = made.loop(validate=scripted([1, 5, 5, 9]), average=2, limits=Limits(15, None), heard=(heard := Heard()))
    loop.train()
    mean, file = _saved(loop), loop.run.kept / "step-00000005.safetensors"
    file.unlink()
    assert loop.choose() is not None
    assert str(file) in heard.notes[-1]
    assert all(tensor.equal(mean[name]) for name, tensor in _saved(loop).items())


def test_the_moving_average_is_what_is_validated_and_kept(made: Small) -> None:
    models: list[dict[str, torch.Tensor]] = []

    def validate(model: Model) -> dict[str, float]:
        models.append({name: tensor.clone() for name, tensor in weights(model).items()})
        return {"loss": -float(len(models))}

    loop = made.loop(validate=validate, ema={"decay": 0.5, "warm": False}, limits=Limits(2, None), every=1)
    loop.train()
    assert loop.ema is not None
    averages = loop.ema.weights()
    saved = _saved(loop)
    for name, tensor in averages.items():
        torch.testing.assert_close(saved[name], tensor)
        assert models[-1][name].equal(saved[name])
    assert any(not tensor.equal(saved[name]) for name, tensor in weights(loop.model).items())
