"""Classes of series: readings as they are, without a mark; the same packed and padded."""

import numpy as np
import pytest
import torch

from seqloom.data.readings import Readings
from seqloom.layers.layout import Padded
from seqloom.models.encoder_only import EncoderOnly
from seqloom.models.settings import ModelSettings
from seqloom.settings import UserError
from seqloom.tasks import Classify, Goals
from seqloom.tasks.classify_series import ClassifySeriesTask
from seqloom.tasks.settings import Vary
from seqloom.text.labels import UNSEEN
from tests.tasks.small import WORDS, by_hand, encoded, model_for, task_of

DRAW = np.random.default_rng(1)
SERIES = [DRAW.normal(size=(steps, 2)) for steps in (5, 3, 8)]
NAMES = ["up", "down", "up"]
SETTINGS = Classify(reads="series")


def _task(settings: Classify = SETTINGS) -> ClassifySeriesTask:
    task = task_of(settings, "series", WORDS, SERIES, NAMES)
    assert isinstance(task, ClassifySeriesTask)
    return task


def test_readings_reach_the_model_as_they_are_scaled() -> None:
    task = _task()
    assert isinstance(task.codecs.source, Readings)
    batch = task.batch(encoded(task, SERIES, [*NAMES[:2], "never seen"]))
    assert batch.source is not None
    assert batch.source.tokens_N.shape == (16, 2)
    assert batch.source.tokens_N.dtype == torch.float32
    assert batch.source.layout.lengths_B.tolist() == [5, 3, 8]
    torch.testing.assert_close(batch.source.tokens_N.mean(0), torch.zeros(2), atol=1e-6, rtol=0)
    assert batch.goal.tolist() == [0, 1, UNSEEN]
    assert batch.tokens == 16
    assert (task.sizes().source, task.sizes().target) == (2, 2)


@pytest.mark.parametrize("kind", [{"kind": "vectors"}, {"kind": "patches", "length": 3}], ids=["vectors", "patches"])
def test_the_loss_is_that_of_padded_rows(kind: dict[str, object]) -> None:
    task = _task()
    model = model_for(task, "encoder-only", {"kind": "classes", "pool": ("mean", "max")}, input=kind).eval()
    assert isinstance(model, EncoderOnly)
    batch = task.batch(encoded(task, SERIES, NAMES))
    assert batch.source is not None
    x_BTC = torch.nn.utils.rnn.pad_sequence(list(batch.source.tokens_N.split([5, 3, 8])), batch_first=True)
    scores = model.float().scores(model(x_BTC, Padded.of([5, 3, 8])))
    wanted = by_hand([scores], [batch.goal.tolist()])
    torch.testing.assert_close(task.loss(model, batch, Goals()), wanted.float())


def test_models_that_do_not_fit() -> None:
    tokens = ModelSettings.model_validate({"family": "encoder-only", "output": {"kind": "classes"}})
    assert "it reads numbers" in (ClassifySeriesTask.refuses(tokens) or "")
    assert "encoder-only" in (ClassifySeriesTask.refuses(ModelSettings()) or "")


def test_text_is_not_varied_and_series_are_not_spelled() -> None:
    for wrong in ({"vary": {"noise": 0.1}}, {"reads": "series", "spelled": True}):
        with pytest.raises(ValueError, match=r"only series are varied|no words that could be spelled"):
            Classify.model_validate(wrong)


def test_training_varies_series_by_their_seeds_alone() -> None:
    task = _task(Classify(reads="series", vary=Vary(noise=0.5)))
    examples = encoded(task, SERIES, NAMES)
    one, again, other = (task.vary(examples, seeds, None) for seeds in ([1, 2, 3], [1, 2, 3], [4, 5, 6]))
    assert (one.columns["source"].values_N == again.columns["source"].values_N).all()
    assert (one.columns["source"].values_N != other.columns["source"].values_N).any()
    assert one.columns["target"] is examples.columns["target"]


def test_series_of_another_form_are_refused_by_training() -> None:
    with pytest.raises(UserError, match=r"made\.tsv:2: 1 reading at each step, but 2 are expected"):
        task_of(SETTINGS, "series", WORDS, [SERIES[0], np.zeros((2, 1))], ["up", "down"])
