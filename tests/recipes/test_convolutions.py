"""ByteNet and ConvS2S: sizes, what defines them, and that they learn."""

import pytest
import torch
from torch import Tensor

from seqloom.layers.layout import Packed
from seqloom.models.build import build_model
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.models.sizes import Sizes
from tests.recipes.shrunk import exact, obeys_the_laws, parameters, recipe

ONE_SET = (
    "model.depth=5",
    "model.decoder.cross=[{kind = 'aligned'}, {kind = 'none'}, {kind = 'none'}, {kind = 'none'}, {kind = 'none'}]",
)
SMALLER = {
    "bytenet-small": (*ONE_SET, "model.width=48", "model.dropout=0.0"),
    "convs2s-small": (
        "model.width=48",
        "model.depth=2",
        "model.widths=[48, 64]",
        "model.dropout=0.0",
        "text.source={kind = 'characters'}",
        "training.optimiser.rate=0.5",
        "training.optimiser.momentum=0.9",  # 0.99 remembers more than half of these few steps
    ),
}
THIN = {
    "bytenet": ("model.width=16", *(f"model.mixer.{layer}.hidden=8" for layer in range(5))),
    "bytenet-small": ("model.width=16",),
}
STEPS = {"bytenet-small": 150, "convs2s-small": 250}


def _built(name: str, *changes: str) -> EncoderDecoder:
    torch.manual_seed(1)
    model = build_model(recipe(name, *changes).model, Sizes(11, 11)).double().eval()
    assert isinstance(model, EncoderDecoder)
    return model


def test_convs2s_has_as_many_parameters_as_were_told() -> None:
    assert parameters("convs2s") == pytest.approx(recipe("convs2s").target.parameters, rel=0.02)


def test_bytenet_has_60_blocks_of_its_sizes() -> None:
    """No number was published. A block: maps 1600 → 800 → 1600 around 3 · 800², with biases and norms."""
    block = 1600 * 800 + 800 + 3 * 800**2 + 800 + 800 * 1600 + 1600 + 2 * 2 * 800 + 2 * 1600
    joined = 1600 * 1600 + 1600 + 2 * 1600  # of the aligned reading, with its norm
    last = 2 * 2 * 1600  # norms of both stacks
    assert parameters("bytenet") == 60 * block + joined + last + (296 + 2 * 323) * 1600


@pytest.mark.parametrize("name", SMALLER)
def test_learns_by_heart(name: str) -> None:
    assert exact(recipe(name, *SMALLER[name]), STEPS[name]) >= 0.99


@pytest.mark.parametrize("name", SMALLER)
def test_laws(name: str) -> None:
    obeys_the_laws(recipe(name, *SMALLER[name]))


def _moved_source(model: EncoderDecoder, changed: int, length: int = 200) -> list[int]:
    """Which target steps are other ones when one source token is."""
    layout = Packed.of([length])
    source, target = torch.zeros(length, dtype=torch.int64), torch.ones(length, dtype=torch.int64)
    other = source.clone()
    other[changed] = 5
    with torch.no_grad():
        one, two = (model(x, layout, target, layout).hidden for x in (source, other))
    return (one - two).abs().sum(-1).nonzero()[:, 0].tolist()


def test_bytenet_sees_what_its_dilations_reach() -> None:
    """Encoder: 1 + 2 + 4 + 8 + 16 = 31 to each side. Decoder above the aligned block: 2 · 30 back. No further."""
    moved = _moved_source(_built("bytenet-small", *ONE_SET, "model.width=16"), 75)
    assert (min(moved), max(moved)) == (75 - 31, 75 + 31 + 2 * (2 + 4 + 8 + 16))


@pytest.mark.parametrize(("name", "sets"), [("bytenet", 6), ("bytenet-small", 2)])
def test_the_reach_grows_with_each_set_of_dilations(name: str, sets: int) -> None:
    """By gradients: the furthest is heard so faintly that sums would round it away. Each token stands once.

    Of one feature: the sum of all is a constant where they are normed, of which only what is rounded could be heard."""
    torch.manual_seed(1)
    step, length = 600, 800
    model = build_model(recipe(name, *THIN[name]).model, Sizes(length, 11)).double().eval()
    assert isinstance(model, EncoderDecoder)
    layout, target = Packed.of([length]), torch.ones(length, dtype=torch.int64)
    model(torch.arange(length), layout, target, layout).hidden[step, 0].backward()
    heard = model.source.embedding.weight_VD.grad.abs().sum(-1).nonzero()[:, 0].tolist()
    assert (min(heard), max(heard)) == (step - 31 * sets - 2 * (31 * sets - 1), step + 31 * sets)


def test_without_dilation_bytenet_sees_next_to_nothing() -> None:
    mixer = "model.mixer={kind = 'bottleneck-convolution'}"
    moved = _moved_source(_built("bytenet-small", *ONE_SET, "model.width=16", mixer), 75)
    assert (min(moved), max(moved)) == (75 - 5, 75 + 5 + 2 * 4)


@pytest.mark.parametrize("name", THIN)
def test_bytenet_unfolds_its_source(name: str) -> None:
    """10 tokens are 12 states, so that target step 12 is the first that has nothing to stand on."""
    model = _built(name, *THIN[name])
    memory = model.encode(torch.zeros(15, dtype=torch.int64), Packed.of([10, 5]))
    assert memory.layout.lengths_B.tolist() == [12, 6]
    state = model.decoder.begin(2, memory)[0].cross
    assert state.memory_ASD.shape[1] == 12


def test_bytenet_may_write_further_than_it_unfolds() -> None:
    model = _built("bytenet-small", "model.width=16")
    output = model(
        torch.zeros(2, dtype=torch.int64), Packed.of([2]), torch.zeros(30, dtype=torch.int64), Packed.of([30])
    )
    assert output.hidden.shape == (30, 16)
    assert output.hidden.isfinite().all()


def test_convs2s_keeps_the_variance_of_what_it_reads() -> None:
    """√½ and the first weights do it together; without √½ each of 15 sums would double it."""
    changes = ("model.width=128", "model.widths=[128]", "model.depth=15")  # as deep as the published one
    layout, tokens = Packed.of([200]), torch.randint(11, (200,), generator=torch.Generator().manual_seed(1))

    def grown(name: str, *more: str) -> float:
        model = _built(name, *changes, *more)
        with torch.no_grad():
            return float(model.encode(tokens, layout).states.var() / model.source(tokens, layout)[0].var())

    for name in ("convs2s", "convs2s-small"):
        assert 0.5 < grown(name) < 2
        assert grown(name, "model.residual.scale=1.0") > 1000
    assert grown("convs2s-small", "model.mixer.weight_norm=false") < 0.05  # torch's own first weights


def _learnt_from(divide: str, training: bool = True) -> dict[str, Tensor]:
    """The gradients of each part."""
    model = _built("convs2s-small", "model.dropout=0.0", f"model.decoder.cross={{kind='multi-step', divide={divide}}}")
    source, target = Packed.of([7, 3]), Packed.of([2, 5])
    model.train(training)(torch.arange(10), source, torch.arange(7), target).hidden[:, 0].sum().backward()
    return {name: weight.grad for name, weight in model.named_parameters() if weight.grad is not None}


def test_convs2s_divides_what_its_encoder_learns_from() -> None:
    """By four layers that attend to it; what is read beside it is not divided, nor does anything else change."""
    divided, whole = _learnt_from("true"), _learnt_from("false")
    assert divided.keys() == whole.keys()
    parts = {name.partition(".")[0] for name in whole}
    assert {"encoder", "decoder", "source", "target"} <= parts
    for name, gradient in whole.items():
        if name.startswith("encoder."):
            torch.testing.assert_close(divided[name], gradient / 4)
        elif not name.startswith("source."):
            torch.testing.assert_close(divided[name], gradient)
    assert all(whole[name].abs().max() > 0 for name in whole if name.startswith("encoder.blocks.0.mixer"))
    source = next(name for name in whole if name.startswith("source."))
    assert not torch.allclose(divided[source], whole[source])
    assert not torch.allclose(divided[source], whole[source] / 4)
    asked = _learnt_from("true", training=False)  # what an answer hangs on
    for name, gradient in _learnt_from("false", training=False).items():
        torch.testing.assert_close(asked[name], gradient)


def test_convs2s_asks_with_the_targets_embedding_and_reads_the_sources() -> None:
    """Were they left out, no layer of attention would know the embedding itself."""
    model = _built("convs2s-small")
    layout = Packed.of([4])
    memory = model.encode(torch.arange(4), layout)
    assert memory.embedded is not None
    assert torch.equal(memory.embedded, model.source(torch.arange(4), layout)[0])
    block = model.decoder.blocks[0]
    x, _ = model.target(torch.arange(4), layout)
    state = model.decoder.begin(1, memory)[0]
    assert not torch.allclose(block(x, layout, state, x)[0], block(x, layout, state, None)[0])


def test_every_layer_of_convs2s_has_attention_and_weight_norm() -> None:
    model = _built("convs2s-small")
    names = set(model.state_dict())
    for layer in range(4):
        assert f"decoder.blocks.{layer}.cross.query.parametrizations.weight.original0" in names
        assert f"decoder.blocks.{layer}.mixer.conv.parametrizations.weight.original0" in names
        assert f"encoder.blocks.{layer}.mixer.conv.parametrizations.weight.original0" in names
