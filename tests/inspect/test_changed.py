"""What is changed while a model runs is what was meant, and nothing else; and it is over when it is over."""

import threading

import pytest
import torch
from torch import Tensor

from seqloom.inspect.changed import changed
from seqloom.inspect.changes import (
    Change,
    HeadChange,
    LayerChange,
    MaskChange,
    PositionsChange,
    TokenChange,
    WeightChange,
)
from seqloom.inspect.trace import Example, run, trace
from seqloom.layers.attention import SelfAttention
from seqloom.layers.gated_linear import GatedLinearMixer
from seqloom.layers.layout import Padded
from seqloom.models.build import Model, build_model
from seqloom.models.settings import ModelSettings
from seqloom.models.sizes import Sizes
from seqloom.settings import UserError
from tests.laws import cases

PAIR = Example(torch.tensor([5, 6, 7, 8, 2]), torch.tensor([1, 9, 6, 7]))
ONE = Example(torch.tensor([5, 6, 7, 8, 2]))


def _model(**settings: object) -> Model:
    torch.manual_seed(1)
    model = build_model(ModelSettings.model_validate({"width": 8, "depth": 2, **settings}), Sizes(11, 11)).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    return model


HEADS = {"kind": "attention", "heads": 2}


def _close(found: Tensor, wanted: Tensor) -> None:
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("layer", ["encoder.blocks.1.mixer", "decoder.blocks.0.mixer", "decoder.blocks.1.cross"])
@pytest.mark.parametrize("place", ["pre", "post", "both"])
def test_a_head_that_is_off_hands_over_nothing(layer: str, place: str) -> None:
    """As if the columns of the output map that read the head were 0."""
    model = _model(mixer=HEADS, norm={"kind": "layer", "place": place})
    off = run(model, PAIR, [HeadChange(layer=layer, head=1)])
    assert not torch.allclose(off, run(model, PAIR))
    with torch.no_grad():
        model.get_submodule(layer).heads.out.weight[:, 4:] = 0  # type: ignore[union-attr,operator,index]
    _close(off, run(model, PAIR))


@pytest.mark.parametrize("name", [name for name in cases.BOTH if name.startswith(("attention", "memory"))])
def test_heads_of_every_attention(name: str) -> None:
    """Also where there is no output map: then a part of what comes out is what no head found."""
    model = _model(family="decoder-only", mixer=cases.BOTH[name])
    layer = model.get_submodule("decoder.blocks.0.mixer")
    off = run(model, ONE, [HeadChange(layer="decoder.blocks.0.mixer", head=0)])
    width = layer.heads.J  # type: ignore[union-attr]

    def blank(module: object, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (torch.cat((torch.zeros_like(args[0][..., :width]), args[0][..., width:]), -1),)

    if layer.heads.out is None:  # type: ignore[union-attr]
        before = trace(model, ONE, [HeadChange(layer="decoder.blocks.0.mixer", head=0)])
        assert not before.values("decoder.blocks.0.mixer")[-1].matrix[:, :width].any()
        return
    hook = layer.heads.out.register_forward_pre_hook(blank)  # type: ignore[union-attr,operator]
    _close(off, run(model, ONE))
    hook.remove()


def test_a_head_of_a_fading_memory() -> None:
    model = _model(family="encoder-only", mixer={"kind": "gated-linear", "heads": 2}, output={"kind": "tags"})
    off = run(model, ONE, [HeadChange(layer="encoder.blocks.0.mixer", head=1)])
    layer = model.get_submodule("encoder.blocks.0.mixer")
    assert isinstance(layer, GatedLinearMixer)
    with torch.no_grad():
        layer.out.weight[:, 4:] = 0
    _close(off, run(model, ONE))


@pytest.mark.parametrize("place", ["pre", "both"])
@pytest.mark.parametrize("part", ["mixer", "cross", "feed_forward"])
def test_a_layer_that_is_off_lets_all_go_around_it(place: str, part: str) -> None:
    model = _model(mixer=HEADS, norm={"kind": "layer", "place": place})
    found = trace(model, PAIR, [LayerChange(box=f"decoder.blocks.1.{part}")])
    values = {value.name: value.matrix for value in found.values(f"decoder.blocks.1.around_{part}.sum")}
    assert torch.equal(values["x"], values["s"])
    assert not torch.allclose(found.scores, run(model, PAIR))


def test_a_layer_without_a_residual_says_nothing() -> None:
    model = _model(
        family="decoder-only", mixer={"kind": "recurrence"}, residual={"kind": "none"}, feed_forward={"kind": "none"}
    )
    found = trace(model, ONE, [LayerChange(box="decoder.blocks.1.mixer")])
    assert not found.seen.made("decoder.blocks.1").any()


def test_a_block_that_is_off_hands_on_what_it_read() -> None:
    model = _model(mixer=HEADS)
    found = trace(model, PAIR, [LayerChange(box="decoder.blocks.0")])
    assert torch.equal(found.seen.read("decoder.blocks.0"), found.seen.made("decoder.blocks.0"))


def test_a_weight_is_set_and_the_rest_of_its_row_shares_what_is_left() -> None:
    model, layer = _model(mixer=HEADS), "decoder.blocks.1.cross"
    before = trace(model, PAIR).parts(layer).weights_BHTS[0]
    change = WeightChange(layer=layer, head=1, row=2, column=3, value=0.75)
    found = trace(model, PAIR, [change])
    weights = found.parts(layer).weights_BHTS[0]
    _close(weights.sum(-1), torch.ones(2, 4))
    assert weights[1, 2, 3] == 0.75
    rest = [0, 1, 2, 4]
    _close(weights[1, 2, rest] / before[1, 2, rest], torch.full((4,), float(0.25 / before[1, 2, rest].sum())))
    same = torch.ones(2, 4, dtype=torch.bool)
    same[1, 2] = False
    _close(weights[same], before[same])
    values = {value.name: value.matrix for value in found.values(layer)}
    _close(values["A"] @ values["V"], values["Z"])
    _close(model.get_submodule(layer).heads.out(values["C"]), values["Y"])  # type: ignore[union-attr,operator]
    assert not torch.allclose(found.scores[2], run(model, PAIR)[2])


def test_several_weights_of_one_row() -> None:
    model, layer = _model(mixer=HEADS), "encoder.blocks.0.mixer"
    changes = [WeightChange(layer=layer, head=0, row=0, column=column, value=0.4) for column in (1, 2)]
    row = trace(model, PAIR, changes).parts(layer).weights_BHTS[0, 0, 0]
    _close(row[[1, 2]], torch.tensor([0.4, 0.4]))
    _close(row.sum(), torch.ones(()))
    with pytest.raises(UserError, match=r"sum to 1\.6; a row sums to 1"):
        run(model, PAIR, [change.model_copy(update={"value": 0.8}) for change in changes])


def test_a_weight_of_a_row_that_sees_one_place_only() -> None:
    """The first step of a decoder sees itself: there is nobody to take the rest, unless the weight stays."""
    model, layer = _model(mixer=HEADS), "decoder.blocks.0.mixer"
    with pytest.raises(UserError, match="sees nothing else"):
        run(model, PAIR, [WeightChange(layer=layer, head=0, row=0, column=0, value=0.5)])
    seen = trace(model, PAIR, [WeightChange(layer=layer, head=0, row=0, column=2, value=0.5)])
    _close(seen.parts(layer).weights_BHTS[0, 0, 0], torch.tensor([0.5, 0, 0.5, 0]))


@pytest.mark.parametrize("name", ["luong", "luong-unfed", "bahdanau", "gnmt-decoder", "luong-multiplicative"])
def test_weights_and_heads_of_a_recurrent_decoder(name: str) -> None:
    """Its attention is asked step by step: each step has its own row."""
    decoder = {"mixer": cases.WITH_MEMORY[name], "cross": {"kind": "none"}}
    model = _model(depth=1, encoder={"mixer": {"kind": "recurrence"}}, decoder=decoder)
    layer = "decoder.blocks.0.mixer"
    found = trace(model, PAIR, [WeightChange(layer=layer, head=0, row=2, column=1, value=1.0)])
    weights = found.values(f"{layer}.attention.weights")[-1].matrix
    _close(weights[0, 2], torch.tensor([0.0, 1, 0, 0, 0]))
    _close(weights.sum(-1), torch.ones(1, 4))
    plain = trace(model, PAIR)
    _close(found.scores[:2], plain.scores[:2])
    assert not torch.allclose(found.scores[2], plain.scores[2])
    contexts = found.seen.all_made(f"{layer}.attention")[0]
    _close(found.values(f"{layer}.attention.heads")[-1].matrix if "multi" not in name else contexts, contexts)
    off = trace(model, PAIR, [HeadChange(layer=layer, head=0)])
    if "multi" not in name:
        assert not off.seen.all_made(f"{layer}.attention").any()


@pytest.mark.parametrize(
    ("positions", "relative"),
    [
        ({"kind": "sinusoidal"}, None),
        ({"kind": "learned", "length": 9}, {"kind": "rotary"}),
        ({"kind": "none"}, {"kind": "shaw", "distance": 2}),
        ({"kind": "sinusoidal", "join": "concat", "width": 2}, {"kind": "alibi"}),
        ({"kind": "none"}, {"kind": "t5", "buckets": 8, "distance": 6}),
        ({"kind": "none"}, {"kind": "music", "distance": 3}),
    ],
)
def test_without_positions_an_encoder_knows_no_order(positions: dict[str, object], relative: dict[str, object]) -> None:
    mixer = {**HEADS, **({} if relative is None else {"relative": relative})}
    model = _model(family="encoder-only", mixer=mixer, positions=positions, output={"kind": "tags"})
    order = torch.tensor([3, 0, 4, 1, 2])
    turned = Example(ONE.read[order])
    assert not torch.allclose(run(model, ONE)[order], run(model, turned), atol=1e-3)
    off = [PositionsChange(side="encoder")]
    _close(run(model, ONE, off)[order], run(model, turned, off))


def test_only_one_side_loses_its_positions() -> None:
    model = _model(mixer=HEADS, positions={"kind": "sinusoidal"})
    found = trace(model, PAIR, [PositionsChange(side="decoder")])
    assert not found.values("target.positions")[-1].matrix.any()
    assert found.values("source.positions")[-1].matrix.any()


@pytest.mark.parametrize("family", ["decoder-only", "encoder-decoder"])
@pytest.mark.parametrize("kind", ["attention", "memory-compressed"])
def test_without_the_mask_the_future_changes_the_past(family: str, kind: str) -> None:
    model = _model(family=family, mixer={"kind": kind, "heads": 2})
    given = PAIR if family == "encoder-decoder" else ONE
    other = Example(PAIR.read, torch.tensor([1, 9, 6, 8])) if family == "encoder-decoder" else Example(ONE.read.flip(0))
    other = other if family == "encoder-decoder" else Example(torch.tensor([5, 6, 7, 8, 10]))
    _close(run(model, given)[:3], run(model, other)[:3])
    off = [MaskChange()]
    assert not torch.allclose(run(model, given, off)[:3], run(model, other, off)[:3], atol=1e-4)


def test_a_change_that_changes_nothing_changes_nothing() -> None:
    """A row that has its weight already; the equation then says what the fast path says."""
    model, layer = _model(mixer=HEADS), "encoder.blocks.0.mixer"
    value = float(trace(model, PAIR).parts(layer).weights_BHTS[0, 0, 1, 1])
    _close(run(model, PAIR, [WeightChange(layer=layer, head=0, row=1, column=1, value=value)]), run(model, PAIR))


def _hooks(model: Model) -> int:
    return sum(len(module._forward_hooks) + len(module._forward_pre_hooks) for module in model.modules())


EVERY: list[Change] = [
    HeadChange(layer="encoder.blocks.0.mixer", head=0),
    LayerChange(box="decoder.blocks.0"),
    WeightChange(layer="decoder.blocks.1.cross", head=0, row=0, column=0, value=0.5),
    PositionsChange(side="decoder"),
    MaskChange(),
]


def test_nothing_stays_behind() -> None:
    model = _model(mixer=HEADS, positions={"kind": "sinusoidal"})
    weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    before = run(model, PAIR)
    assert not torch.allclose(run(model, PAIR, EVERY), before)
    assert not _hooks(model)
    assert torch.equal(run(model, PAIR), before)
    assert all(torch.equal(tensor, weights[name]) for name, tensor in model.state_dict().items())


def test_nothing_stays_behind_an_error() -> None:
    model = _model(mixer=HEADS, positions={"kind": "sinusoidal"})
    with pytest.raises(RuntimeError, match="stop"), changed(model, EVERY):
        raise RuntimeError("stop")
    with pytest.raises(UserError, match="no head 7"):
        run(model, PAIR, [*EVERY, HeadChange(layer="encoder.blocks.0.mixer", head=7)])
    with pytest.raises(UserError, match="there are 5 columns"):
        run(model, PAIR, [WeightChange(layer="encoder.blocks.0.mixer", head=0, row=0, column=5, value=0.5)])
    assert not _hooks(model)


def test_other_threads_see_the_model_as_it_is() -> None:
    model = _model(mixer=HEADS, positions={"kind": "sinusoidal"})
    before, found = run(model, PAIR), list[Tensor]()
    with changed(model, EVERY):
        other = threading.Thread(target=lambda: found.append(run(model, PAIR)))
        other.start()
        other.join()
    assert torch.equal(found[0], before)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (HeadChange(layer="encoder.blocks.0.feed_forward", head=0), r"there are encoder\.blocks\.0\.mixer, "),
        (LayerChange(box="encoder.norm"), "is no layer that can be left out"),
        (LayerChange(box="encoder.blocks.9"), "is no layer that can be left out"),
        (PositionsChange(side="encoder"), "the encoder of this model has none"),
        (TokenChange(place=0, text="a"), "the token is changed where they are made"),
    ],
)
def test_what_a_model_does_not_have_is_said(change: Change, message: str) -> None:
    with pytest.raises(UserError, match=message):
        run(_model(mixer=HEADS), PAIR, [change])


def test_a_model_without_a_mask_is_said() -> None:
    model = _model(family="decoder-only", mixer={"kind": "recurrence"})
    with pytest.raises(UserError, match="no layer of this model hides the future"):
        run(model, ONE, [MaskChange()])
    tagger = _model(family="encoder-only", mixer=HEADS, output={"kind": "tags"})
    with pytest.raises(UserError, match="no layer of this model hides the future"):
        run(tagger, ONE, [MaskChange()])


def test_rows_of_a_batch_are_changed_alike() -> None:
    """As beams need it: what is changed in one row is changed in all."""
    model = _model(family="decoder-only", mixer=HEADS)
    change = [WeightChange(layer="decoder.blocks.0.mixer", head=0, row=3, column=1, value=0.9)]
    both = torch.stack((ONE.read, ONE.read.flip(0)))
    with changed(model, change), torch.no_grad():
        together = model.scores(model(both, Padded.whole(2, 5)))
    _close(together[0], run(model, ONE, change))
    _close(together[1], run(model, Example(ONE.read.flip(0)), change))
    assert isinstance(model.get_submodule("decoder.blocks.0.mixer"), SelfAttention)


@pytest.mark.parametrize("name", [name for name in cases.CROSS if name.startswith(("cross", "multi"))])
def test_weights_of_every_look_at_a_source(name: str) -> None:
    model, layer = _model(mixer=HEADS, decoder={"cross": cases.CROSS[name]}), "decoder.blocks.0.cross"
    plain = trace(model, PAIR)
    value = float(plain.parts(layer).weights_BHTS[0, 0, 1, 2])
    same = WeightChange(layer=layer, head=0, row=1, column=2, value=value)
    _close(run(model, PAIR, [same]), plain.scores)
    other = trace(model, PAIR, [same.model_copy(update={"value": 1.0})])
    found = other.values(f"{layer}.heads")[0].matrix[0, 1]
    _close(found, other.values(f"{layer}.v")[0].matrix[0, 2])
    _close(other.scores[0], plain.scores[0])
    assert not torch.allclose(other.scores[1], plain.scores[1])


@pytest.mark.parametrize("name", ["luong", "bahdanau-deep"])
def test_cells_of_a_recurrent_decoder_that_is_left_out(name: str) -> None:
    """It says nothing to others, but goes on within itself as it always does."""
    decoder = {"mixer": cases.WITH_MEMORY[name], "cross": {"kind": "none"}}
    model = _model(depth=1, encoder={"mixer": {"kind": "recurrence"}}, decoder=decoder)
    layer = "decoder.blocks.0.mixer"
    plain, off = trace(model, PAIR), trace(model, PAIR, [LayerChange(box=layer)])
    assert not off.seen.made(layer).any()
    for one, other in zip(plain.values(f"{layer}.cells.1"), off.values(f"{layer}.cells.1"), strict=True):
        _close(one.matrix, other.matrix)
