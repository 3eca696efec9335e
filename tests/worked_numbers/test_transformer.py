"""A whole Transformer, small enough to follow each number: ours beside the same steps in plain NumPy."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seqloom.layers.attention import SelfAttention
from seqloom.layers.cross_attention import MemoryAttention
from seqloom.layers.layout import Layout, Packed, Padded
from seqloom.layers.mixer import Memory
from seqloom.models.build import build_model
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.models.settings import ModelSettings
from seqloom.models.sizes import Sizes
from tests.worked_numbers import numpy_transformer as by_hand

WIDTH, HEADS, HIDDEN, VOCABULARY = 6, 2, 12, 11
SOURCE, TARGET, GOLD = (3, 7, 4), (1, 5, 9), (5, 9, 2)
RATE = 0.1

BLOCKS = {  # our module: the step's name
    "encoder.blocks.0.mixer": "encoder attention",
    "encoder.blocks.0.feed_forward": "encoder feed-forward",
    "decoder.blocks.0.mixer": "decoder attention",
    "decoder.blocks.0.cross": "cross-attention",
    "decoder.blocks.0.feed_forward": "decoder feed-forward",
}


def settings(tie: str) -> ModelSettings:
    return ModelSettings.model_validate(
        {
            "width": WIDTH,
            "depth": 1,
            "mixer": {"kind": "attention", "heads": HEADS},
            "feed_forward": {"kind": "dense", "width": HIDDEN, "activation": "relu"},
            "norm": {"kind": "layer", "place": "post"},
            "positions": {"kind": "sinusoidal"},
            "input": {"kind": "tokens", "scale": True},
            "tie": tie,
        }
    )


def build(tie: str) -> EncoderDecoder:
    torch.manual_seed(17)
    model = build_model(settings(tie), Sizes(VOCABULARY, VOCABULARY)).double()
    assert isinstance(model, EncoderDecoder)
    with torch.no_grad():
        for parameter in model.parameters():  # no bias stays 0 and no gain stays 1, which could hide a fault
            parameter.add_(torch.rand_like(parameter) * 0.2)
    return model


def steps_of(values: dict[str, Tensor]) -> dict[str, Tensor]:
    """Tensors by our parameters' names → by the names of the steps; the fused maps are taken apart."""
    named: dict[str, Tensor] = {}
    for ours, step in BLOCKS.items():
        for kind in "weight", "bias":
            if "feed_forward" in ours:
                named[f"{step} hidden {kind}"] = values[f"{ours}.layer.inputs.{kind}"]
                named[f"{step} output {kind}"] = values[f"{ours}.layer.out.{kind}"]
                continue
            if ours.endswith("cross"):
                query, (key, value) = values[f"{ours}.heads.q.{kind}"], values[f"{ours}.heads.kv.{kind}"].chunk(2)
            else:
                query, key, value = values[f"{ours}.heads.qkv.{kind}"].chunk(3)
            named |= {f"{step} query {kind}": query, f"{step} key {kind}": key, f"{step} value {kind}": value}
            named[f"{step} output {kind}"] = values[f"{ours}.heads.out.{kind}"]
        place, _, layer = ours.rpartition(".")
        for part in "gain", "bias":
            named[f"{step} norm {part}"] = values[f"{place}.around_{layer}.norm_sum.{part}_D"]
    named["source vectors"] = values["source.embedding.weight_VD"]
    named["target vectors"] = values.get("target.embedding.weight_VD", named["source vectors"])
    named["output vectors"] = values.get("head.weight_VD", named["target vectors"])
    return named


def numpy_weights(model: nn.Module) -> dict[str, by_hand.Array]:
    values = {name: parameter.detach() for name, parameter in model.named_parameters()}
    return {name: value.numpy().copy() for name, value in steps_of(values).items()}


def worked(model: nn.Module) -> tuple[by_hand.Pass, float]:
    run = by_hand.Pass(numpy_weights(model), HEADS)
    return run, by_hand.forward(run, SOURCE, TARGET, GOLD)


def loss_of(model: EncoderDecoder) -> Tensor:
    layout = Packed.of([3])
    scores = model.scores(model(torch.tensor(SOURCE), layout, torch.tensor(TARGET), layout))
    return F.cross_entropy(scores, torch.tensor(GOLD))


def close(ours: Tensor, theirs: by_hand.Array, what: str) -> None:
    np.testing.assert_allclose(ours.detach().numpy(), theirs, rtol=0, atol=1e-9, err_msg=what)


@contextmanager
def seen(model: nn.Module) -> Iterator[tuple[dict[str, Tensor], dict[str, Tensor]]]:
    """What goes into each module, and what comes out of it, by the module's name."""
    into: dict[str, Tensor] = {}
    out: dict[str, Tensor] = {}

    def watch(name: str) -> object:
        def hook(_: nn.Module, given: tuple[Tensor, ...], result: Tensor | tuple[Tensor, ...]) -> None:
            into[name] = given[0]
            out[name] = result[0] if isinstance(result, tuple) else result

        return hook

    handles = [module.register_forward_hook(watch(name)) for name, module in model.named_modules()]  # type: ignore[arg-type]
    try:
        yield into, out
    finally:
        for handle in handles:
            handle.remove()


@pytest.mark.parametrize("tie", ["none", "output", "all"])
def test_every_step_forward(tie: str) -> None:
    model = build(tie)
    run, loss = worked(model)
    layout = Packed.of([3])
    with seen(model) as (into, out):
        ours = loss_of(model)
    trace = run.trace
    close(out["source.embedding"], trace["source embedding"], "embedding × √width")
    close(out["source"], trace["source input"], "embedding + position")
    close(out["target"], trace["target input"], "embedding + position")
    for name, step in BLOCKS.items():
        place, _, layer = name.rpartition(".")
        close(out[f"{place}.around_{layer}.norm_sum"], trace[f"{step} norm"], f"{step}: add & norm")
        if "feed_forward" in name:
            close(out[f"{name}.layer.inputs"], trace[f"{step} hidden"], f"{step}: hidden")
            close(out[f"{name}.layer.out"], trace[f"{step} output"], f"{step}: output")
            continue
        parts = [trace[f"{step} {part}"] for part in ("query", "key", "value")]
        if layer == "cross":
            close(out[f"{name}.heads.q"], parts[0], f"{step}: queries")
            close(out[f"{name}.heads.kv"], np.concatenate(parts[1:], -1), f"{step}: keys and values")
        else:
            close(out[f"{name}.heads.qkv"], np.concatenate(parts, -1), f"{step}: queries, keys and values")
        close(into[f"{name}.heads.out"], trace[f"{step} joined heads"], f"{step}: heads joined")
        close(out[f"{name}.heads.out"], trace[f"{step} output"], f"{step}: output")
        close(weights(model.get_submodule(name), into[name], layout, out["encoder"]), trace[f"{step} weights"], step)
    close(out["encoder"], trace["memory"], "memory")
    close(out["head"], trace["scores"], "scores")
    close(out["head"].softmax(-1), trace["chances"], "chances")
    assert ours.item() == pytest.approx(loss, abs=1e-12)


def weights(mixer: nn.Module, x: Tensor, layout: Layout, memory: Tensor) -> Tensor:
    """Our attention weights, on demand: w_HTS."""
    if isinstance(mixer, MemoryAttention):
        return mixer.weights(x, layout, mixer.start(1, Memory(memory, layout)))[0]
    assert isinstance(mixer, SelfAttention)
    return mixer.weights(x, layout)[0]


def test_scores_before_the_mask() -> None:
    model = build("none")
    run, _ = worked(model)
    with seen(model) as (into, _):
        loss_of(model)
    mixer = model.get_submodule("decoder.blocks.0.mixer")
    assert isinstance(mixer, SelfAttention)
    q_THK, k_THK, _ = mixer.heads.of_itself(into["decoder.blocks.0.mixer"])
    ours = mixer.heads.score.compare(q_THK.transpose(0, 1), k_THK.transpose(0, 1))
    close(ours, run.trace["decoder attention scores"], "scores")
    assert np.isneginf(run.trace["decoder attention masked scores"][:, 0, 1:]).all()
    assert (run.trace["decoder attention weights"][:, 0] == [1, 0, 0]).all()


@pytest.mark.parametrize("tie", ["none", "output", "all"])
def test_every_gradient_and_one_step_down(tie: str) -> None:
    model = build(tie)
    run, before = worked(model)
    by_hand.backward(run, SOURCE, TARGET, GOLD)
    loss_of(model).backward()
    ours = {name: parameter.grad for name, parameter in model.named_parameters() if parameter.grad is not None}
    assert len(ours) == len(list(model.parameters()))
    theirs = shared(run.grads, tie)
    for name, grad in steps_of(ours).items():
        close(grad, theirs[name], f"gradient of {name}")

    torch.optim.SGD(model.parameters(), lr=RATE).step()
    stepped = by_hand.Pass({name: value - RATE * theirs[name] for name, value in run.weights.items()}, HEADS)
    after = by_hand.forward(stepped, SOURCE, TARGET, GOLD)
    assert loss_of(model).item() == pytest.approx(after, abs=1e-12)
    assert after < before


def shared(grads: dict[str, by_hand.Array], tie: str) -> dict[str, by_hand.Array]:
    """The gradient of a shared table is the sum of those of its uses."""
    users = {"none": [], "output": ["target", "output"], "all": ["source", "target", "output"]}[tie]
    total = sum(grads[f"{user} vectors"] for user in users)
    return grads | {f"{user} vectors": np.asarray(total) for user in users}


def test_hand_written_gradients_agree_with_finite_differences() -> None:
    """The worked numbers themselves, apart from torch."""
    run, _ = worked(build("none"))
    by_hand.backward(run, SOURCE, TARGET, GOLD)
    generator = np.random.default_rng(5)
    for name, grad in run.grads.items():
        direction, small = generator.standard_normal(grad.shape), 1e-6
        moved = [
            by_hand.forward(
                by_hand.Pass(run.weights | {name: run.weights[name] + sign * small * direction}, HEADS),
                SOURCE,
                TARGET,
                GOLD,
            )
            for sign in (1, -1)
        ]
        assert (grad * direction).sum() == pytest.approx((moved[0] - moved[1]) / (2 * small), abs=1e-8), name


def test_padded_and_beside_another_row() -> None:
    """The same numbers when the pair stands in a padded batch, beside a shorter one."""
    model = build("all").eval()
    run, _ = worked(model)
    source, target = torch.tensor([SOURCE, (8, 0, 0)]), torch.tensor([TARGET, (1, 6, 0)])
    output = model(source, Padded.of([3, 1]), target, Padded.of([3, 2]))
    close(model.scores(output)[0], run.trace["scores"], "scores")


def test_step_by_step() -> None:
    """The decoder says the same when it is asked one token at a time."""
    model = build("none").eval()
    run, _ = worked(model)
    state = model.start(model.encode(torch.tensor(SOURCE), Packed.of([3])))
    for t, token in enumerate(TARGET):
        output = model.step(torch.tensor([[token]]), Padded.whole(1, 1), state)
        close(model.scores(output)[0, 0], run.trace["scores"][t], f"scores of step {t}")
        assert output.state is not None
        state = output.state
