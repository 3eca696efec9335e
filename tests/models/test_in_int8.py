"""A model in eight bits says nearly the same, and to each row alone."""

from statistics import median

import pytest
import torch

from seqloom.generation import GenerationSettings, Item, PairScorer, write
from seqloom.layers.int8 import Int8Linear
from seqloom.models import EncoderDecoder, Sizes, build_model
from seqloom.models.in_int8 import in_int8
from seqloom.models.laid_out import lay_out
from seqloom.models.settings import ModelSettings

SETTINGS = ModelSettings.model_validate(
    {"width": 32, "depth": 2, "mixer": {"kind": "attention", "heads": 4}, "tie": "all", "dropout": 0.0}
)


@pytest.fixture(scope="module")
def network() -> EncoderDecoder:
    torch.manual_seed(0)
    made = build_model(SETTINGS, Sizes(40, 40)).eval()
    assert isinstance(made, EncoderDecoder)
    lay_out(made)
    return made


def test_the_large_products_are_in_eight_bits_and_the_model_is_a_copy(network: EncoderDecoder) -> None:
    before = {name: value.clone() for name, value in network.state_dict().items()}
    made = in_int8(network)
    assert isinstance(made, EncoderDecoder)
    # a block has qkv, out and two of the feed-forward layer; in the decoder q, kv and out more; and the head
    assert sum(isinstance(part, Int8Linear) for part in made.modules()) == 2 * 4 + 2 * 7 + 1
    assert not any(isinstance(part, Int8Linear) for part in network.modules())
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())


def test_scores_are_near_and_no_row_depends_on_its_neighbours(network: EncoderDecoder) -> None:
    items = [Item([2 + (n * 5 + at) % 37 for at in range(1 + n % 9)], n, 12) for n in range(24)]
    scorers = {name: PairScorer(one, 0, 1) for name, one in (("full", network), ("int8", in_int8(network)))}
    settings = {batch: GenerationSettings(beam=2, batch=batch) for batch in (1, 7, 24)}
    said = {batch: dict(write(scorers["int8"], items, one)) for batch, one in settings.items()}
    for batch in (7, 24):
        for number, (answer,) in said[batch].items():
            assert answer.tokens == said[1][number][0].tokens
            assert answer.score == pytest.approx(said[1][number][0].score, abs=1e-4)
    full = dict(write(scorers["full"], items, settings[24]))
    apart = [abs(full[number][0].score - answer.score) for number, (answer,) in said[24].items()]
    assert 0 < median(apart) < 0.05  # where two answers are nearly as likely, another one may be written
