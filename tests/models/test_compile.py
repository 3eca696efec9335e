"""One model of each family and kind of mixer compiles whole, once for all batches of a frame, and says the same."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from seqloom.layers.layout import Packed, Padded
from seqloom.models.build import Model, build_model
from seqloom.models.decoder_only import DecoderOnly
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.models.settings import ModelSettings
from seqloom.models.sizes import Sizes
from seqloom.models.stack_settings import Family

# the compiler's own ones, about itself
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

VOCABULARY = 13
MIXERS = {
    "attention": {"kind": "attention", "heads": 2},
    "convolution": {"kind": "convolution", "gated": True},
    "linear-time": {"kind": "gated-linear", "heads": 2},
}
STEPPED = {
    "memory-compressed": {"kind": "memory-compressed", "heads": 2},
    "rotary-window": {"kind": "attention", "heads": 2, "window": 3, "relative": {"kind": "rotary"}},
    "recurrence": {"kind": "recurrence"},
}
# the compiler sees each step of a recurrence by itself, so that these take long: few steps, and most without code
RECURRENT: dict[str, dict[str, object]] = {
    "encoder-only": {
        "family": "encoder-only",
        "mixer": {"kind": "recurrence", "direction": "both"},
    },
    "decoder-only": {
        "family": "decoder-only",
        "mixer": {"kind": "recurrence", "cell": "gru"},
    },
    "encoder-decoder": {
        "encoder": {"mixer": {"kind": "recurrence", "direction": "both"}},
        "decoder": {"mixer": {"kind": "recurrence", "initial": "memory"}, "cross": {"kind": "attention", "heads": 2}},
    },
    "bottleneck": {
        "encoder": {"mixer": {"kind": "recurrence", "cell": "elman", "direction": "both", "join": "sum"}},
        "decoder": {"mixer": {"kind": "recurrence", "cell": "elman"}, "cross": {"kind": "bottleneck"}},
    },
    "bahdanau": {
        "encoder": {"mixer": {"kind": "recurrence", "cell": "gru", "direction": "both"}},
        "decoder": {"mixer": {"kind": "attentive-recurrence", "form": "bahdanau", "cell": "gru"}},
    },
    "luong": {
        "encoder": {"mixer": {"kind": "recurrence", "direction": "backward"}},
        "decoder": {"mixer": {"kind": "attentive-recurrence"}},
    },
    "luong-unfed": {
        "encoder": {"mixer": {"kind": "recurrence", "cell": "gru", "direction": "both"}},
        "decoder": {"mixer": {"kind": "attentive-recurrence", "feed": False, "cell": "gru"}},
    },
}
FAMILIES: list[Family] = ["encoder-only", "decoder-only", "encoder-decoder"]
BATCHES = [[5, 3, 7], [2, 8, 1, 4], [6]]
FRAME = {"tokens": 16, "rows": 4, "longest": 8}
SHORT_BATCHES = [[1, 3], [2, 1, 3], [3]]
SHORT_FRAME = {"tokens": 7, "rows": 3, "longest": 3}

once = torch._dynamo.config.patch(error_on_recompile=True)


def _model(family: Family, mixer: str) -> Model:
    torch.manual_seed(0)
    cross = {"cross": {"kind": "attention", "heads": 2}} if family == "encoder-decoder" else {}
    settings = ModelSettings.model_validate(
        {
            "family": family,
            "width": 16,
            "depth": 1,
            "mixer": (MIXERS | STEPPED)[mixer],
            "feed_forward": {"kind": "dense", "width": 24},
            "positions": {"kind": "sinusoidal"},
            "output": {"kind": "tokens"},
            "tie": "all",
            **cross,
        }
    )
    return build_model(settings, Sizes(VOCABULARY, VOCABULARY))


def _recurrent(name: str) -> Model:
    torch.manual_seed(0)
    bare = {key: {"kind": "none"} for key in ("feed_forward", "norm", "residual")}
    settings = ModelSettings.model_validate({"width": 8, "depth": 1, **bare, **RECURRENT[name]})
    return build_model(settings, Sizes(VOCABULARY, VOCABULARY))


def _loss(model: Model, x: Tensor, layout: Packed, goal: Tensor) -> Tensor:
    """Training on one batch: the filler of a frame does not count."""
    output = model(x, layout, x, layout) if isinstance(model, EncoderDecoder) else model(x, layout)
    each = F.cross_entropy(model.scores(output), goal, reduction="none")
    assert layout.real_N is not None
    return (each * layout.real_N).sum() / layout.real_N.sum()


def _batch(lengths: list[int], frame: dict[str, int]) -> tuple[Tensor, Packed, Tensor]:
    x, goal = torch.randint(VOCABULARY, (2, frame["tokens"]))
    return x, Packed.of(lengths, **frame), goal


def _gradients(model: Model, loss: Callable[..., Tensor], batch: tuple[Tensor, Packed, Tensor]) -> list[Tensor]:
    model.zero_grad()
    value = loss(model, *batch)
    value.backward()
    return [value.detach(), *(p.grad.clone() for p in model.parameters() if p.grad is not None)]


def _says_the_same(model: Model, backend: str, batches: list[tuple[Tensor, Packed, Tensor]]) -> None:
    """Loss and gradients, compiled whole and as it is."""
    torch.compiler.reset()
    compiled = torch.compile(_loss, fullgraph=True, dynamic=False, backend=backend)
    for batch in batches:
        eager, fast = _gradients(model, _loss, batch), _gradients(model, compiled, batch)
        for a, b in zip(eager, fast, strict=True):
            assert (a - b).abs().max() <= 5e-5 * max(1.0, a.abs().max().item())


@pytest.mark.slow
@once
@pytest.mark.parametrize("mixer", MIXERS)
@pytest.mark.parametrize("family", FAMILIES)
def test_compiles_whole_and_once(family: Family, mixer: str) -> None:
    _says_the_same(_model(family, mixer), "inductor", [_batch(lengths, FRAME) for lengths in BATCHES])


@once
@pytest.mark.parametrize("name", RECURRENT)
def test_recurrence_compiles_whole_and_once(name: str) -> None:
    """Forward and backward become graphs, from which no code is made."""
    _says_the_same(_recurrent(name), "aot_eager", [_batch(lengths, SHORT_FRAME) for lengths in SHORT_BATCHES])


@pytest.mark.slow
@once
def test_recurrence_compiles_to_code() -> None:
    batches = [_batch(lengths, SHORT_FRAME) for lengths in SHORT_BATCHES]
    _says_the_same(_recurrent("encoder-decoder"), "inductor", batches)


@once
@pytest.mark.parametrize("mixer", [*MIXERS, *STEPPED])
def test_a_static_state_steps_in_one_graph(mixer: str) -> None:
    """Generation with a state of static shape: every step is the same graph, and says what the whole says."""
    torch.compiler.reset()
    model = _model("decoder-only", mixer).eval()
    assert isinstance(model, DecoderOnly)
    step = torch.compile(model, fullgraph=True, dynamic=False, backend="eager")
    tokens = torch.randint(VOCABULARY, (3, 6))
    with torch.no_grad():
        whole = model(tokens, Padded.whole(3, 6)).hidden
        state, parts = model.start(3, capacity=6), []
        for t in range(6):
            output = step(tokens[:, t : t + 1].clone(), Padded.whole(3, 1), state)
            state = output.state
            parts.append(output.hidden)
    torch.testing.assert_close(torch.cat(parts, 1), whole, atol=1e-5, rtol=1e-4)


@once
@pytest.mark.parametrize("name", ["encoder-decoder", "bahdanau", "luong"])
def test_a_recurrent_decoder_steps_in_one_graph(name: str) -> None:
    """The same with a source to read."""
    torch.compiler.reset()
    model = _recurrent(name).eval()
    assert isinstance(model, EncoderDecoder)
    step = torch.compile(model.step, fullgraph=True, dynamic=False, backend="eager")
    tokens, source, layout = torch.randint(VOCABULARY, (3, 4)), torch.randint(VOCABULARY, (7,)), Packed.of([4, 1, 2])
    with torch.no_grad():
        whole = model(source, layout, tokens, Padded.whole(3, 4)).hidden
        state, parts = model.start(model.encode(source, layout), capacity=4), []
        for t in range(4):
            output = step(tokens[:, t : t + 1].clone(), Padded.whole(3, 1), state)
            state = output.state
            parts.append(output.hidden)
    torch.testing.assert_close(torch.cat(parts, 1), whole, atol=1e-5, rtol=1e-4)


@once
def test_a_batch_outside_its_frame_would_be_compiled_anew() -> None:
    """The test above can fail."""
    torch.compiler.reset()
    model = _model("encoder-only", "attention")
    compiled = torch.compile(_loss, fullgraph=True, dynamic=False, backend="eager")
    compiled(model, *_batch([5, 3], FRAME))
    x, goal = torch.randint(VOCABULARY, (20,)), torch.randint(VOCABULARY, (20,))
    with pytest.raises(torch._dynamo.exc.RecompileError):
        compiled(model, x, Packed.of([5, 3], tokens=20, rows=4, longest=8), goal)
