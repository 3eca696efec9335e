"""A step of blocks in one call of C says what its layers say one by one."""

import copy
import gc
import weakref
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import pytest
import torch
from torch import Tensor

from seqloom.layers.layout import Packed, Padded
from seqloom.layers.mixer import fan_out, fork, join, reorder, roomy
from seqloom.layers.native.block import BLOCK
from seqloom.layers.native.compiler import MissingError
from seqloom.layers.paths import only_plain
from seqloom.models import build_model, stack_step
from seqloom.models.decoder_only import DecoderOnly
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.models.in_int8 import in_int8
from seqloom.models.laid_out import lay_out
from seqloom.models.output import DecoderState
from seqloom.models.settings import ModelSettings
from seqloom.models.sizes import Sizes
from seqloom.models.stack_settings import Residual

pytestmark = pytest.mark.skipif(BLOCK.wait() is None, reason="needs a C compiler")

USUAL: dict[str, Any] = {"width": 32, "depth": 2, "mixer": {"kind": "attention", "heads": 4}}
ROTARY = {"mixer": {"kind": "attention", "heads": 4, "qk_norm": True, "relative": {"kind": "rotary"}}}


def built(**other: Any) -> EncoderDecoder:
    torch.manual_seed(0)
    model = build_model(ModelSettings.model_validate({**USUAL, **other}), Sizes(20, 20)).eval()
    assert isinstance(model, EncoderDecoder)
    for weight in model.parameters():  # norms and biases that do something
        weight.data += 0.2 * torch.randn_like(weight)
    return model


def begun(model: EncoderDecoder, lengths: list[int], beam: int = 1) -> DecoderState:
    tokens = torch.arange(sum(lengths)) % 20
    state = model.start(model.encode(tokens, Packed.of(lengths)))
    return roomy(fan_out(state, beam) if beam > 1 else state, 2, tuple([len(lengths) // 2] * 2))


def stepped(model: EncoderDecoder, state: DecoderState, last: Tensor) -> tuple[Tensor, DecoderState]:
    output = model.step(last[:, None], Padded.whole(len(last), 1), state)
    assert output.state is not None
    return output.hidden, output.state


@torch.inference_mode()
def written(model: EncoderDecoder) -> Tensor:
    """Some steps of rows that join others, and leave."""
    state, last, seen = begun(model, [5, 4, 2, 2]), torch.tensor([1, 2, 3, 4]), []
    for step in range(7):
        hidden, state = stepped(model, state, last)
        seen.append(hidden.flatten())
        last = (last * 7 + step) % 20
        if step == 2:
            state, last = join([state, begun(model, [3, 1])]), torch.cat((last, torch.tensor([5, 6])))
        if step == 4:
            rows = torch.tensor([3, 1, 2, 5])
            state, last = reorder(state, rows), last[rows]
    return torch.cat(seen)


def used(model: torch.nn.Module) -> bool:
    plan = stack_step._plans[True].get(model.decoder.blocks)  # type: ignore[union-attr, arg-type, call-overload]
    return plan is not None and plan.blocks is not None


def same(model: EncoderDecoder, in_c: bool = True) -> None:
    found = written(model)
    assert used(model) == in_c
    with only_plain():
        wanted = written(model)
    torch.testing.assert_close(found, wanted, atol=3e-5 * max(1.0, float(wanted.abs().max())), rtol=3e-5)


@pytest.mark.parametrize("place", ["pre", "post", "both"])
@pytest.mark.parametrize("kind", ["layer", "rms"])
def test_norms(place: str, kind: str) -> None:
    same(built(norm={"kind": kind, "place": place}))


@pytest.mark.parametrize(
    "other",
    [
        {"norm": {"kind": "none"}},
        {"norm": {"kind": "layer", "gain": False, "bias": False}},
        {"residual": {"kind": "add", "carry": 1.5, "scale": 0.7}},
        {"feed_forward": {"kind": "none"}},
        {"mixer": {"kind": "attention", "heads": 4, "key_heads": 2, "bias": False}},
        {"mixer": {"kind": "attention", "heads": 4, "head_width": 3, "score": "dot"}},
        {"mixer": {"kind": "attention", "heads": 4, "output": False}},
        {"mixer": {"kind": "attention", "heads": 4, "qk_norm": True}},
        {"mixer": {"kind": "attention", "heads": 4, "relative": {"kind": "rotary"}}},
        {
            "mixer": {
                "kind": "attention",
                "heads": 2,
                "relative": {"kind": "rotary", "order": "interleaved", "base": 50.0},
            }
        },
        {"mixer": {"kind": "attention", "heads": 2, "relative": {"kind": "rotary", "fraction": 0.4}}},
        {"mixer": {"kind": "attention", "heads": 4, "key_heads": 1, "qk_norm": True, "relative": {"kind": "rotary"}}},
    ],
)
def test_other_parts(other: dict[str, Any]) -> None:
    same(built(**other))


@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu-tanh", "silu", "tanh", "identity"])
@pytest.mark.parametrize("gated", [False, True])
def test_activations(activation: str, gated: bool) -> None:
    same(built(feed_forward={"kind": "dense", "width": 48, "activation": activation, "gated": gated}))


@pytest.mark.parametrize("activation", ["silu", "gelu", "gelu-tanh"])
def test_what_is_far_below_nothing_is_nothing(activation: str) -> None:
    model = built(feed_forward={"kind": "dense", "width": 48, "activation": activation})
    model.decoder.blocks[0].feed_forward.layer.inputs.bias.data[:20] = -1e38  # type: ignore[union-attr]
    same(model)


@pytest.mark.parametrize(
    "other",
    [
        {"residual": {"kind": "none"}},
        {"feed_forward": {"kind": "dense", "activation": "elu"}},
        {"mixer": {"kind": "attention", "heads": 4, "score": "additive"}},
        {"mixer": {"kind": "attention", "heads": 4, "activation": "relu"}},
        {"mixer": {"kind": "attention", "heads": 4, "window": 3}},
        {"mixer": {"kind": "attention", "heads": 4, "relative": {"kind": "alibi"}}},
    ],
)
def test_what_it_cannot_say_goes_the_plain_way(other: dict[str, Any]) -> None:
    same(built(**other), in_c=False)


def test_an_encoder_turns_too() -> None:
    model = built(**ROTARY)
    same(model)
    plan = stack_step._plans[False][model.encoder.blocks]  # type: ignore[index]
    assert plan.blocks is not None


def test_more_places_than_turns_are_known_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack_step, "PLACES", 4)
    model, calls, real = built(**ROTARY), list[int](), stack_step.native.Blocks.step
    monkeypatch.setattr(stack_step.native.Blocks, "step", lambda *given: calls.append(1) or real(*given))
    same(model)
    assert len(calls) == 4  # of seven; rows that join later have gone fewer steps, but not all


@pytest.mark.parametrize("other", [{}, ROTARY])
def test_forks(other: dict[str, Any]) -> None:
    model = built(**other)

    @torch.inference_mode()
    def run() -> Tensor:
        state, seen = begun(model, [4, 2], beam=3), []
        for step in range(6):
            hidden, state = stepped(model, state, torch.arange(6) + step)
            seen.append(hidden)
            state = fork(state, torch.tensor([2, 0, 0, 4, 3, 4]))
        return torch.cat(seen)

    found = run()
    assert used(model)
    with only_plain():
        torch.testing.assert_close(found, run(), atol=3e-5, rtol=3e-5)


def test_a_language_model() -> None:
    torch.manual_seed(0)
    given = {**USUAL, "family": "decoder-only", "positions": {"kind": "learned", "length": 30}}
    model = build_model(ModelSettings.model_validate(given), Sizes(20, 20)).eval()
    assert isinstance(model, DecoderOnly)

    @torch.inference_mode()
    def run() -> Tensor:
        output = model(torch.arange(8).view(2, 4), Padded.of([4, 2]), model.start(2))
        state, seen = roomy(output.state, 2), []
        for step in range(6):
            output = model(torch.tensor([[step], [step + 3]]), Padded.whole(2, 1), state)
            state = output.state
            seen.append(output.hidden)
        return torch.cat(seen)

    found = run()
    assert used(model)
    with only_plain():
        torch.testing.assert_close(found, run(), atol=3e-5, rtol=3e-5)


@pytest.mark.parametrize("place", ["pre", "post"])
def test_in_eight_bits(place: str) -> None:
    """Where a number lies between two whole ones, its last bit decides: so nearly the same, and not to the bit."""
    model = in_int8(built(norm={"kind": "layer", "place": place}, feed_forward={"kind": "dense", "gated": True}))
    assert isinstance(model, EncoderDecoder)
    found = written(model)
    assert used(model)
    with only_plain():
        wanted = written(model)
    apart = (found - wanted).abs()
    assert float(apart.mean()) < 1e-3
    assert float(apart.max()) < 0.1
    assert not torch.allclose(found, written(built(norm={"kind": "layer", "place": place})), atol=1e-3)
    model.decoder.blocks[0].feed_forward.layer.out.scale_E *= 0  # type: ignore[union-attr, operator]
    assert not torch.allclose(written(model), found, atol=1e-2)


def test_weights_that_lie_otherwise_or_change() -> None:
    model = built()
    before = written(model)
    lay_out(model)
    torch.testing.assert_close(written(model), before, atol=3e-5, rtol=3e-5)
    for weight in model.decoder.parameters():
        weight.data = weight.data * 0.5
    same(model)
    assert (written(model) - before).abs().max() > 0.1


def test_whoever_listens_hears_every_layer() -> None:
    model, heard = built(), []
    without = written(model)
    hook = model.decoder.blocks[0].feed_forward.register_forward_hook(lambda *given: heard.append(given))  # type: ignore[union-attr, operator]
    torch.testing.assert_close(written(model), without, atol=3e-5, rtol=3e-5)
    assert len(heard) == 7
    hook.remove()
    written(model)
    assert len(heard) == 7


def test_a_model_can_be_copied_after_it_has_written() -> None:
    model = built()
    found = written(model)
    torch.testing.assert_close(written(copy.deepcopy(model)), found)


def test_a_model_that_has_written_can_go() -> None:
    model = built()
    written(model)
    gone = weakref.ref(model.decoder.blocks[0])
    assert gone() is not None
    del model
    gc.collect()
    assert gone() is None


def test_rows_do_not_depend_on_their_neighbours() -> None:
    """To the last digits: products of matrices are made in another order for other numbers of rows."""
    model = built()

    @torch.inference_mode()
    def last(rows: list[int]) -> Tensor:
        state = roomy(model.start(model.encode(torch.arange(7 * len(rows)) % 7, Packed.of([7] * len(rows)))), 4)
        for step in range(5):
            hidden, state = stepped(model, state, torch.tensor(rows) + step)
        return hidden

    torch.testing.assert_close(last([3])[0], last([1, 2, 3, 4])[2], atol=1e-5, rtol=1e-5)


def test_a_state_of_other_rows_is_refused() -> None:
    model = built()
    with torch.inference_mode(), pytest.raises(ValueError, match="the state has 4"):
        stepped(model, begun(model, [2, 2, 2, 2]), torch.tensor([1, 2]))


def test_without_a_product_the_plain_lines_do_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> int:
        raise MissingError("as on a Mac")

    model = built()
    expected = written(model)
    monkeypatch.setattr(stack_step, "_plans", {True: WeakKeyDictionary(), False: WeakKeyDictionary()})
    monkeypatch.setattr(stack_step.native, "products", missing)
    torch.testing.assert_close(written(model), expected, atol=1e-4, rtol=1e-4)
    assert [plan.blocks for plans in stack_step._plans.values() for plan in plans.values()] == [None, None]


def _fewer(model: EncoderDecoder) -> None:
    del model.decoder.blocks[1]


def _more(model: EncoderDecoder) -> None:
    model.decoder.blocks.append(copy.deepcopy(model.decoder.blocks[0]))


def _replaced(model: EncoderDecoder) -> None:
    layer = model.decoder.blocks[0].feed_forward.layer  # type: ignore[union-attr]
    layer.out = copy.deepcopy(layer.out)
    layer.out.weight.data *= 2


def _unbiased(model: EncoderDecoder) -> None:
    model.decoder.blocks[0].mixer.heads.out.bias = None  # type: ignore[union-attr]


def _own_way(model: EncoderDecoder) -> None:
    out = model.decoder.blocks[0].feed_forward.layer.out  # type: ignore[union-attr]
    out.forward = lambda x: 2 * type(out).forward(out, x)


def _softer(model: EncoderDecoder) -> None:
    model.decoder.blocks[0].around_mixer.norm_in.epsilon = 5.0  # type: ignore[union-attr]


def _flatter(model: EncoderDecoder) -> None:
    model.decoder.blocks[1].cross.heads.score.scale = 0.01  # type: ignore[union-attr]


def _still(model: EncoderDecoder) -> None:
    model.decoder.blocks[0].mixer.relative = None  # type: ignore[union-attr]


def _faster(model: EncoderDecoder) -> None:
    model.decoder.blocks[1].mixer.relative.base = 3.0  # type: ignore[union-attr]


def _less(model: EncoderDecoder) -> None:
    model.decoder.blocks[0].mixer.relative.turning = 2  # type: ignore[union-attr]


def _turned_back(model: EncoderDecoder) -> None:
    relative = model.decoder.blocks[1].mixer.relative  # type: ignore[union-attr]
    relative.turn = lambda x, at: type(relative).turn(relative, x, -at)  # type: ignore[union-attr]


def _narrower(model: EncoderDecoder) -> None:
    model.decoder.blocks[1].mixer.heads.q_norm.gain_D.data[:3] = 0  # type: ignore[union-attr]


@pytest.mark.parametrize("change", [_still, _faster, _less, _turned_back, _narrower])
def test_turns_that_changed_since_are_seen(change: Callable[[EncoderDecoder], None]) -> None:
    model = built(**ROTARY)
    before = written(model)
    assert used(model)
    change(model)
    with only_plain():
        wanted = written(model)
    assert (before - wanted).abs().max() > 1e-3
    torch.testing.assert_close(written(model), wanted, atol=1e-4, rtol=1e-4)


def _louder(model: EncoderDecoder) -> None:
    model.decoder.blocks[1].around_feed_forward.residual = Residual(carry=3.0)


@pytest.mark.parametrize("change", [_fewer, _more, _replaced, _unbiased, _own_way, _softer, _flatter, _louder])
def test_what_changed_since_is_seen(change: Callable[[EncoderDecoder], None]) -> None:
    model = built()
    before = written(model)
    change(model)
    with only_plain():
        wanted = written(model)
    assert not torch.allclose(before, wanted, atol=1e-3)
    torch.testing.assert_close(written(model), wanted, atol=1e-4, rtol=1e-4)


def test_what_once_did_not_fit_fits_as_soon_as_it_does() -> None:
    """As with a map beside a map that was merged into it since."""
    model = built()
    layer = model.decoder.blocks[0].feed_forward.layer  # type: ignore[union-attr]
    out = layer.out
    layer.out = torch.nn.Sequential(out)
    same(model, in_c=False)
    layer.out = out
    same(model)


def test_other_rows_than_the_layout_says() -> None:
    model = built()
    state = begun(model, [5, 4, 2, 2])
    with torch.inference_mode(), pytest.raises(ValueError, match="the layout says"):
        stack_step.stepped(model.decoder.blocks, torch.zeros(2, 1, 32), Padded.whole(4, 1), state.layers)
