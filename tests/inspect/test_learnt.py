"""The learnt matrices of small models: what goes in times W, plus b, is what comes out."""

import pytest
import torch

from seqloom.inspect.flow import draw
from seqloom.inspect.learnt import MOST, learnt
from seqloom.jobs.lecture import lecture
from seqloom.jobs.look import Look, LookRequest
from seqloom.models import ModelSettings, Sizes, build_model

E, D = "encoder.blocks.0", "decoder.blocks.0"


@pytest.fixture(scope="module")
def look() -> Look:
    return Look(lecture(), LookRequest("black cat sleeps", "chat noir dort"))


@pytest.mark.parametrize(
    ("box", "reads", "made"),
    [
        (f"{E}.mixer.q", ("source.sum", "s"), "Q"),
        (f"{E}.mixer.k", ("source.sum", "s"), "K"),
        (f"{E}.mixer.v", ("source.sum", "s"), "V"),
        (f"{D}.cross.q", (f"{D}.around_mixer.norm_sum", "y"), "Q"),
        (f"{D}.cross.k", (f"{E}.around_feed_forward.norm_sum", "y"), "K"),
        (f"{D}.cross.v", (f"{E}.around_feed_forward.norm_sum", "y"), "V"),
        (f"{E}.mixer", (f"{E}.mixer.heads", "C"), "Y"),
        (f"{D}.cross", (f"{D}.cross.heads", "C"), "Y"),
        (f"{E}.feed_forward.hidden", (f"{E}.around_mixer.norm_sum", "y"), "h"),
        (f"{E}.feed_forward", (f"{E}.feed_forward.active", "a"), "y"),
        ("head", (f"{D}.around_feed_forward.norm_sum", "y"), "z"),
    ],
)
def test_they_make_what_the_box_made(look: Look, box: str, reads: tuple[str, str], made: str) -> None:
    values = {value.name: value.matrix for value in look.box(box).values}
    x = next(value.matrix for value in look.box(reads[0]).values if value.name == reads[1])
    computed = x @ values["W"] + values.get("b", torch.zeros(()))
    torch.testing.assert_close(computed, values[made], rtol=1e-5, atol=1e-6)


def test_larger_ones_are_not_for_reading() -> None:
    model = build_model(ModelSettings(family="encoder-decoder", width=16, depth=1), Sizes(20, 20))
    boxes = draw(model).boxes
    assert sum(bool(learnt(model, box)) for box in boxes) == 0
    assert MOST < 16 * 16
