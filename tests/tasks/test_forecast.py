"""Windows become batches, forecasts become losses."""

import numpy as np
import pytest
import torch

from seqloom.data.series.columns import Columns
from seqloom.data.series.frequency import Frequency
from seqloom.data.series.timestamps import TimeStyle
from seqloom.data.series.windows import Scaled, Windows
from seqloom.models import build_model
from seqloom.models.settings import ModelSettings
from seqloom.tasks import Codecs, Forecast, Goals, build_task
from seqloom.tasks.forecast import ForecastTask
from seqloom.tasks.scales import Scale, Scales

L, H = 8, 3


def task(targets: int = 2, known: int = 0, past: int = 0, gaps: bool = False, **settings: object) -> ForecastTask:
    names = [f"c{number}" for number in range(targets + known + past)]
    columns = Columns(
        "date", None, tuple(names[:targets]), tuple(names[targets : targets + past]), tuple(names[targets + past :])
    )
    scale = Scale((0.0,) * targets, (1.0,) * targets, (1.0,) * targets)
    scales = Scales(columns, Frequency(micros=1), TimeStyle(), 1, {"": scale}, ((0.0, 1.0),) * (known + past), gaps)
    made = build_task(Forecast.model_validate({"look_back": L, "horizon": H, **settings}), Codecs.of_series(scales))
    assert isinstance(made, ForecastTask)
    return made


def windows(of: ForecastTask, values_TC: np.ndarray, rows: int = 2) -> Windows:
    C, P = of.scales.targets, len(of.scales.columns.past)
    values_TC = values_TC.astype(np.float32)
    series = Scaled(values_TC[:, :C], values_TC[:, C : C + P], values_TC[:, C + P :], np.arange(len(values_TC)))
    return Windows([series], np.zeros(rows, np.int64), L + np.arange(rows), of.frame)


def values(columns: int, seed: int = 0, level: float = 0.0) -> np.ndarray:
    return level + np.random.default_rng(seed).normal(size=(20, columns))


MODEL: dict[str, object] = {
    "family": "encoder-only",
    "width": 8,
    "depth": 1,
    "mixer": {"kind": "attention", "heads": 2},
    "input": {"kind": "patches", "length": 4, "stride": 2, "fill": "last"},
    "output": {"kind": "horizon"},
}


def model(of: ForecastTask, **changes: object) -> torch.nn.Module:
    torch.manual_seed(0)
    return build_model(ModelSettings.model_validate(MODEL | changes), of.sizes()).double().eval()


def batch(of: ForecastTask, values_TC: np.ndarray):  # type: ignore[no-untyped-def]
    made = of.batch(windows(of, values_TC).read([0])[0])
    from dataclasses import replace

    doubles = {name: getattr(made, name).double() for name in ("goal", "read_RSF", "level_BC", "spread_BC")}
    return replace(made, **doubles)


def test_each_column_is_a_sequence_of_its_own() -> None:
    of = task()
    assert (of.sizes().source, of.sizes().target, of.sizes().steps) == (1, H, L)
    made = of.batch(windows(of, values(2)).read([0])[0])
    assert made.read_RSF.shape == (4, L, 1)
    assert made.count == 2 * H * 2
    own = values(2)[:L, 1].astype(np.float32)
    np.testing.assert_allclose(made.read_RSF[1, :, 0], (own - own.mean()) / np.sqrt(own.var() + 1e-5), rtol=1e-4)


def test_columns_together_are_one_sequence() -> None:
    of = task(channels="together")
    assert (of.sizes().source, of.sizes().target) == (2, 2 * H)
    made = of.batch(windows(of, values(2)).read([0])[0])
    assert made.read_RSF.shape == (2, L, 2)
    said, _ = of.run(model(of).float(), made)  # type: ignore[arg-type]
    assert said.shape == (2, H, 2, 1)


@pytest.mark.parametrize("channels", ["apart", "together"])
def test_a_level_and_a_scale_come_back(channels: str) -> None:
    """What is seven higher and three times as wide is forecast seven higher and three times as wide."""
    of = task(channels=channels)
    net = model(of)
    plain, moved = batch(of, values(2)), batch(of, values(2) * 3 + 7)
    one, other = (of.run(net, each)[0] for each in (plain, moved))  # type: ignore[arg-type]
    torch.testing.assert_close(other, 3 * one + 7, rtol=1e-3, atol=1e-3)


def test_the_last_value_is_the_level_if_that_is_wished() -> None:
    of = task(1, normalise="last")
    hole = values(1)
    hole[L - 1] = np.nan
    made = of.batch(windows(of, hole, 1).read([0])[0])
    assert made.level_BC.item() == pytest.approx(hole[L - 2, 0], rel=1e-6)  # the last that is known
    assert made.spread_BC.item() == 1
    plain = task(1, normalise="none")
    assert plain.batch(windows(plain, values(1), 1).read([0])[0]).level_BC.item() == 0


def test_missing_values_change_nothing_but_their_mark() -> None:
    """Whatever would stand in a gap, a model reads the same; goals that are missing give no loss and no gradient."""
    of = task(1, gaps=True)
    hole = values(1)
    hole[3], hole[L + 1] = np.nan, np.nan
    made = of.batch(windows(of, hole, 1).read([0])[0])
    assert made.read_RSF[0, 3].tolist() == [0.0, 1.0]
    assert made.read_RSF[0, 2, 1] == 0
    assert made.count == H - 1
    net = model(of).float()
    loss = of.loss(net, made, Goals())  # type: ignore[arg-type]
    loss.backward()
    assert loss.isfinite()
    assert all(p.grad is None or p.grad.isfinite().all() for p in net.parameters())


def test_a_look_back_without_values_is_read_as_nothing() -> None:
    of = task(1, gaps=True)
    empty = values(1)
    empty[:L] = np.nan
    made = of.batch(windows(of, empty, 1).read([0])[0])
    assert (made.level_BC.item(), made.spread_BC.item()) == (0, 1)
    assert made.read_RSF[..., 0].abs().sum() == 0


def test_what_is_known_ahead_is_read_with_the_horizon() -> None:
    of = task(1, known=1, past=1)
    assert of.sizes().steps == L + H
    assert of.sizes().source == 1 + 1 + 1 + 1  # the value, the past column, the known one, and what is to come
    made = of.batch(windows(of, values(3), 1).read([0])[0])
    assert made.read_RSF.shape == (1, L + H, 4)
    assert made.read_RSF[0, L:, 0].abs().sum() == 0  # the horizon's own values are not read
    assert made.read_RSF[0, L:, 1].abs().sum() == 0  # nor what is known only so far
    np.testing.assert_allclose(made.read_RSF[0, :, 2], values(3)[: L + H, 2], rtol=1e-5)
    assert made.read_RSF[0, :, 3].tolist() == [0.0] * L + [1.0] * H


def test_no_goal_leaks_into_what_is_read() -> None:
    of = task(2, known=1, past=1)
    other = values(4)
    other[L : L + H, :3] = 99.0  # all but what is known
    one, two = (of.batch(windows(of, each, 1).read([0])[0]) for each in (values(4), other))
    assert torch.equal(one.read_RSF, two.read_RSF)
    assert torch.equal(one.level_BC, two.level_BC)


def test_losses_are_sums_over_the_goals() -> None:
    of = task(1)
    goal_BHC = torch.tensor([[[1.0], [float("nan")], [2.0]]])
    said_BHCQ = torch.tensor([[[[0.0, 0.5, 1.5]], [[9.0, 9.0, 9.0]], [[4.0, 1.0, 2.0]]]])
    found = of.errors(said_BHCQ, goal_BHC, (0.25, 0.75))
    assert found["mse"].item() == pytest.approx(1 + 4)
    assert found["mae"].item() == pytest.approx(1 + 2)
    # 2 · mean of: ¼ · ½ and ¼ · ½; then ¼ · 1 and 0
    assert found["crps"].item() == pytest.approx((0.125 + 0.125) + (0.25 + 0.0))
    assert found["loss"].item() == pytest.approx(5 + 0.5)
    assert task(1, loss="absolute").errors(said_BHCQ[..., :1], goal_BHC, ())["loss"].item() == pytest.approx(3)
    assert task(1, loss="huber").errors(said_BHCQ[..., :1], goal_BHC, ())["loss"].item() == pytest.approx(0.5 + 1.5)


@pytest.mark.parametrize(
    "mixer",
    [{"kind": "recurrence", "direction": "both"}, {"kind": "convolution"}, {"kind": "gated-linear", "heads": 2}],
)
def test_any_mixer_forecasts(mixer: dict[str, object]) -> None:
    of = task(2)
    net = model(of, mixer=mixer, input={"kind": "vectors"}, output={"kind": "horizon", "quantiles": (0.1, 0.9)})
    said, _ = of.run(net, batch(of, values(2)))  # type: ignore[arg-type]
    assert said.shape == (2, H, 2, 3)
    assert (said[..., 2] >= said[..., 1]).all()


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"family": "decoder-only", "input": {"kind": "vectors"}, "output": {"kind": "numbers"}}, "encoder-only model"),
        ({"output": {"kind": "numbers"}}, "writes numbers"),
        ({"input": {"kind": "tokens"}}, "reads tokens"),
    ],
)
def test_models_that_cannot_forecast(changes: dict[str, object], why: str) -> None:
    told = ForecastTask.refuses(ModelSettings.model_validate(MODEL | changes))
    assert told is not None
    assert why in told
    assert ForecastTask.refuses(ModelSettings.model_validate(MODEL)) is None
