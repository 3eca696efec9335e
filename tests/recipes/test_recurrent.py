"""Recurrent systems: their sizes as published, that they learn, and what distinguishes each of them."""

import functools
import random
import re
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from seqloom.jobs.recipes.recipe import Recipe
from seqloom.jobs.recipes.shipped import names
from seqloom.layers.attentive_recurrence import AttentiveRecurrence, AttentiveRecurrenceMixer, AttentiveState
from seqloom.layers.experts import MixtureOfExperts
from seqloom.layers.layout import Padded
from seqloom.layers.mixer import Memory
from seqloom.layers.recurrence import Recurrence, RecurrenceMixer
from seqloom.layers.recurrent_layers import Chance
from seqloom.models.build import Model, build_model
from seqloom.models.cost import model_cost
from seqloom.models.decoder_only import DecoderOnly
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.models.settings import ModelSettings
from seqloom.models.sizes import Sizes
from seqloom.settings import load
from tests.laws import laws
from tests.laws.cases import stirred
from tests.laws.subject import Form, Subject, model_subject

PAIRS = ["rnn-seq2seq", "rnn-attention-dot", "rnn-attention-multiplicative", "rnn-attention-additive"]
PAIRS += ["deep-att", "gnmt", "moe-lstm"]
TEXTS = ["rnn-lm", "lstm-lm"]

SIZE, BEGIN, END = 12, 0, 1


@functools.cache
def recipe(name: str, *changes: str) -> Recipe:
    return load(names()[name], Recipe, changes)


def parameters(name: str) -> float:
    target = recipe(name).target
    assert target.source_size is not None
    sizes = Sizes(target.source_size, target.target_size or target.source_size)
    return model_cost(recipe(name).model, sizes).parameters


@pytest.mark.parametrize("name", ["lstm-lm", "rnn-seq2seq", "gnmt", "moe-lstm"])
def test_parameters_are_as_published(name: str) -> None:
    assert parameters(name) == pytest.approx(recipe(name).target.parameters, rel=0.02)


def test_parameters_that_are_counted_otherwise() -> None:
    """See what the recipe says under `counted`; three systems published no number."""
    assert recipe("rnn-lm").target.counted
    assert parameters("rnn-lm") == 2 * 10_000 * 300 + 2 * 300 * 300 + 2 * 300
    wikitext2 = model_cost(recipe("lstm-lm").model, Sizes(33_278, 33_278)).parameters
    assert wikitext2 == pytest.approx(33e6, rel=0.02)


def test_gnmt_and_the_mixture_cost_as_many_products_as_published() -> None:
    """Shazeer et al. 2017, Table 2: 214 and 85 million a step; of the mixture's the scores are left out, and places
    that nobody takes.
    """
    sizes, mixture = Sizes(32_000, 32_000), recipe("moe-lstm").model
    plain = ModelSettings.model_validate_json(
        re.sub('"capacity":[0-9.]+', '"capacity":null', mixture.model_dump_json())
    )
    gnmt, moe = (model_cost(model, sizes).flops / 2 for model in (recipe("gnmt").model, plain))
    assert model_cost(mixture, sizes).flops / 2 > moe
    assert gnmt == pytest.approx(214e6, rel=0.02)
    assert moe - 32_000 * 512 == pytest.approx(85e6, rel=0.05)


# --- a tiny set, learnt by heart


def pairs(count: int = 24) -> tuple[Tensor, Tensor]:
    """Words of five letters, no two alike, and the same backwards."""
    draw = torch.Generator().manual_seed(3)
    words_BT = torch.randint(2, SIZE, (4 * count, 5), generator=draw).unique(dim=0)
    words_BT = words_BT[torch.randperm(len(words_BT), generator=draw)[:count]]
    return words_BT, words_BT.flip(1)


def learn(model: Model, inputs: Any, goal_BT: Tensor, steps: int, rate: float = 0.01) -> None:
    torch.manual_seed(1)
    optimiser = torch.optim.Adam(model.parameters(), rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps, 1e-4)
    model.train()
    for _ in range(steps):
        output = model(*inputs)
        loss = torch.nn.functional.cross_entropy(model.scores(output).flatten(0, 1), goal_BT.flatten())
        loss = loss if output.report is None else loss + output.report.loss
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
    model.eval()


@torch.no_grad()
def written(model: EncoderDecoder, source_BT: Tensor, steps: int) -> Tensor:
    """Step by step, always the likeliest token."""
    rows = len(source_BT)
    state = model.start(model.encode(source_BT, Padded.whole(*source_BT.shape)))
    last_B1, all_of = torch.full((rows, 1), BEGIN), []
    for _ in range(steps):
        output = model.step(last_B1, Padded.whole(rows, 1), state)
        assert output.state is not None
        state, last_B1 = output.state, model.scores(output).argmax(-1)
        all_of.append(last_B1)
    return torch.cat(all_of, 1)


# narrower than the small siblings; and nothing is dropped, so that few steps do
CHANGES: dict[str, tuple[str, ...]] = {
    "deep-att": (
        "model.encoder.mixer.hidden=48",
        "model.encoder.mixer.dropout=0.0",
        "model.decoder.mixer.dropout=0.0",
    ),
    "gnmt": ("model.encoder.mixer.hidden=64",),
    "rnn-lm": (),
    "lstm-lm": (
        "model.locked=false",
        "model.input.dropout=0.0",
        "model.mixer.hidden=[96, 64]",
        "model.mixer.dropout=0.0",
        "model.mixer.locked=false",
        "model.mixer.weight_dropout=0.0",
    ),
}


def tiny(name: str, size: int = SIZE) -> Model:
    settings = recipe(f"{name}-small", "model.width=64", "model.dropout=0.0", *CHANGES.get(name, ())).model
    torch.manual_seed(2)
    return build_model(settings, Sizes(size, size)).eval()


@pytest.mark.parametrize("name", PAIRS)
def test_a_tiny_set_is_learnt_by_heart(name: str) -> None:
    model = tiny(name)
    assert isinstance(model, EncoderDecoder)
    source_BT, target_BT = pairs()
    rows, steps = target_BT.shape
    read_BT = torch.cat((torch.full((rows, 1), BEGIN), target_BT), 1)
    goal_BT = torch.cat((target_BT, torch.full((rows, 1), END)), 1)
    layouts = Padded.whole(*source_BT.shape), Padded.whole(*read_BT.shape)
    how = (160, 0.005) if name == "deep-att" else (100,)  # deep ones do not always get going at a high rate
    learn(model, (source_BT, layouts[0], read_BT, layouts[1]), goal_BT, *how)
    assert (written(model, source_BT, steps + 1) == goal_BT).all(1).float().mean() >= 0.99


def _after_frequent_words(*changes: str) -> float:
    """The loss behind some steps of a language whose next word follows from the last; few words are most of it."""
    torch.manual_seed(2)
    size = 60
    model = build_model(recipe("deep-att-small", "model.dropout=0.0", *changes).model, Sizes(size, size)).train()
    draw = torch.Generator().manual_seed(1)
    follows_VV = (torch.randn(size, size, generator=draw) * 2 - 1.5 * torch.arange(1, size + 1).log()).softmax(-1)
    optimiser = torch.optim.Adam(model.parameters(), recipe("deep-att-small").training.optimiser.rate)
    layout, losses = Padded.whole(32, 6), list[float]()
    for _ in range(60):
        words = [torch.zeros(32, dtype=torch.int64)]
        for _ in range(6):
            words.append(torch.multinomial(follows_VV[words[-1]], 1, generator=draw)[:, 0])
        text_BT = torch.stack(words, 1)
        output = model(text_BT[:, :6], layout, text_BT[:, :6], layout)
        loss = torch.nn.functional.cross_entropy(model.scores(output).flatten(0, 1), text_BT[:, 1:].flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return sum(losses[-10:]) / 10


def test_first_vectors_are_large_enough_for_deep_att_to_learn_words_in_order() -> None:
    """Where states are scored with small vectors they have to saturate before frequent words are likely."""
    assert (
        _after_frequent_words() < _after_frequent_words("model.input.deviation=0.0884") - 0.2
    )  # 1 / √128: the default


@pytest.mark.parametrize("name", TEXTS)
def test_a_tiny_text_is_learnt_by_heart(name: str) -> None:
    """Each line begins with a letter of its own."""
    model = tiny(name, 40)
    assert isinstance(model, DecoderOnly)
    text_BT = torch.cat((torch.arange(16, 40)[:, None], pairs()[0]), 1)
    layout = Padded.whole(len(text_BT), text_BT.shape[1] - 1)
    learn(model, (text_BT[:, :-1], layout), text_BT[:, 1:], 300)
    with torch.no_grad():
        said_BT = model.scores(model(text_BT[:, :-1], layout)).argmax(-1)
    assert (said_BT == text_BT[:, 1:]).all(1).float().mean() >= 0.99


# --- the laws


def subject(name: str) -> Subject:
    return model_subject(stirred(tiny(name)), 4, torch.float64)


@pytest.mark.parametrize("name", PAIRS + TEXTS)
def test_the_laws_hold(name: str) -> None:
    it = subject(name)
    rows = it.rows([4, 1, 3], [3, 5, 1])
    laws.future_changes_nothing(it, rows, Form("packed"), [2, 0, 1])
    laws.padding_changes_nothing(it, rows, Form("left", 2))
    cuts = [[0, 1, 4], [0, 1, 1], [0, 0, 3]]
    laws.parts_are_the_whole(it, rows, cuts, [Form("right", 1), Form("packed")], None)
    laws.reordering_commutes(it, rows, it.rows([2] * 3, [1] * 3), [2, 0, 0])
    long = it.rows([2, 5, 5, 2], [2, 3, 1, 4])
    laws.rows_join_later(it, long, [[0, 3], [3, 0]], None)
    laws.hypotheses_fork(it, rows, 2, random.Random(1))
    laws.loaded_is_the_same(it, subject(name), rows)
    laws.gradients_are_right(it, rows)


@pytest.mark.parametrize("name", PAIRS + TEXTS)
def test_fast_and_plain_paths_agree(name: str) -> None:
    it = subject(name)
    laws.paths_agree(it, it.rows([4, 1, 3], [3, 5, 1]), Form("right", 1))


# --- what distinguishes them


def mixers(name: str) -> tuple[RecurrenceMixer, AttentiveRecurrenceMixer | RecurrenceMixer]:
    model = tiny(name)
    assert isinstance(model, EncoderDecoder)
    read, write = (stack._blocks[0].mixer for stack in (model.encoder, model.decoder))
    assert isinstance(read, RecurrenceMixer)
    assert isinstance(write, AttentiveRecurrenceMixer | RecurrenceMixer)
    return read, write


def silenced(mixer: RecurrenceMixer | AttentiveRecurrenceMixer, layer: int) -> None:
    """A layer that puts out zeros: an LSTM without weights and biases."""
    if isinstance(mixer, AttentiveRecurrenceMixer):
        cell = mixer._cells[layer]
    else:
        found = mixer._layers[layer].ahead
        assert found is not None
        cell = found
    with torch.no_grad():
        for weight in cell.parameters():
            weight.zero_()


def moved_by_input(mixer: RecurrenceMixer | AttentiveRecurrenceMixer, layer: int) -> bool:
    """Whether anything of the input still arrives at the top when one layer says nothing."""
    silenced(mixer, layer)
    layout, draw = Padded.whole(1, 3), torch.Generator().manual_seed(0)
    ys = []
    for _ in range(2):
        x = torch.randn(1, 3, 64, generator=draw)
        memory = Memory(torch.ones(1, 2, 64), Padded.whole(1, 2))
        state = mixer.start(1, memory) if mixer.causal else None
        ys.append(mixer(x, layout, state)[0])
    return not torch.allclose(ys[0], ys[1])


@pytest.mark.parametrize("side", [0, 1], ids=["encoder", "decoder"])
def test_residuals_of_gnmt_begin_at_the_third_layer(side: int) -> None:
    settings = mixers("gnmt")[side].settings
    assert isinstance(settings, Recurrence | AttentiveRecurrence)
    assert [settings.adds(layer) for layer in range(4)] == [False, False, True, True]
    # a third layer that says nothing is gone around; a second one that says nothing stops the input. The decoder's
    # context, which goes to all layers by itself, is the same for any input here: the source has one vector
    assert moved_by_input(mixers("gnmt")[side], 2)
    assert not moved_by_input(mixers("gnmt")[side], 1)


def test_all_layers_of_gnmts_decoder_hear_of_the_source() -> None:
    _, write = mixers("gnmt")
    assert isinstance(write, AttentiveRecurrenceMixer)
    assert [cell.inputs for cell in write._cells] == [128] * 4
    silenced(write, 0)  # the bottom layer asks without knowing, and is silent: what is heard above is the context
    x, layout, draw = torch.randn(1, 3, 64), Padded.whole(1, 3), torch.Generator().manual_seed(0)
    ys = []
    for _ in range(2):
        memory = Memory(torch.randn(1, 2, 64, generator=draw), Padded.whole(1, 2))
        ys.append(write(x, layout, write.start(1, memory))[0])
    assert not torch.allclose(ys[0], ys[1])


def test_the_encoder_of_gnmt_goes_both_ways_in_its_first_layer_only() -> None:
    read, _ = mixers("gnmt")
    assert [layer.back is not None for layer in read._layers] == [True, False, False, False]
    assert [layer.ahead.inputs for layer in read._layers if layer.ahead] == [64, 128, 64, 64]


def test_fast_forward_goes_around_a_silent_layer() -> None:
    """Half of what the gates of the layer below were told is told to those of the layer above, linearly."""
    _, write = mixers("deep-att")
    assert isinstance(write, AttentiveRecurrenceMixer)
    with torch.no_grad():  # zero but for what the inputs say: the layer puts out tanh(0) · … = 0
        write._cells[1].weight_x_GD[2 * 64 :].zero_()
        for weight in (write._cells[1].weight_h_GH, write._cells[1].bias_x_G, write._cells[1].bias_h_G):
            weight.zero_()
    memory = Memory(torch.ones(1, 2, 64), Padded.whole(1, 2))
    draw = torch.Generator().manual_seed(0)
    xs = [torch.randn(1, 3, 64, generator=draw) for _ in range(2)]
    ys = [write(x, Padded.whole(1, 3), write.start(1, memory))[0] for x in xs]
    assert not torch.allclose(ys[0], ys[1])


def test_the_columns_of_deep_att_turn_around_at_each_layer() -> None:
    """A column of three layers, each of one direction: the first position hears of the last one and the other way."""
    read, _ = mixers("deep-att")
    assert "interleaved" in read.settings.directions()
    x = torch.randn(1, 4, 64, requires_grad=True)
    for side in 0, 1:
        chance = Chance(read.settings, training=False)
        y_BTH, _ = read._column(x, Padded.whole(1, 4), chance, side)
        for here, there in (0, 3), (3, 0):
            (grad,) = torch.autograd.grad(y_BTH[0, here].sum(), x, retain_graph=True)
            assert grad[0, there].abs().max() > 0


def test_each_layer_of_seq2seq_begins_where_the_encoders_ended() -> None:
    model = tiny("rnn-seq2seq")
    assert isinstance(model, EncoderDecoder)
    read, _ = mixers("rnn-seq2seq")
    source = torch.tensor([[2, 3, 4]])
    x, layout = model.source(source, Padded.whole(1, 3))
    begun = model.start(model.encode(source, layout)).layers[0]
    assert begun is not None
    for layer, cell in enumerate(layer.ahead for layer in read._layers):
        assert cell is not None
        x, end, _ = cell(x, layout, cell.zeros(1, x))
        torch.testing.assert_close(begun.mixer[layer].hidden_BH, end.hidden_BH)
        torch.testing.assert_close(begun.mixer[layer].cell_BH, end.cell_BH)
    assert recipe("rnn-seq2seq").task.reverse  # type: ignore[union-attr]


def test_seq2seq_knows_nothing_of_the_source_but_these_states() -> None:
    model = tiny("rnn-seq2seq")
    assert isinstance(model, EncoderDecoder)
    memory = model.encode(torch.tensor([[2, 3, 4]]), Padded.whole(1, 3))
    other = replace(memory, states=torch.randn_like(memory.states))
    one, two = (model.step(torch.tensor([[5]]), Padded.whole(1, 1), model.start(m)).hidden for m in (memory, other))
    assert torch.equal(one, two)


@pytest.mark.parametrize("score", ["dot", "multiplicative", "additive"])
def test_the_scores_of_attention(score: str) -> None:
    mixer = recipe(f"rnn-attention-{score}").model.side("decoder").mixers()[0]
    assert isinstance(mixer, AttentiveRecurrence)
    assert mixer.attention.score == score
    assert mixer.form == ("bahdanau" if score == "additive" else "luong")


@pytest.mark.parametrize("end", ["", "-small"])
def test_additive_begins_where_the_backward_direction_ends(end: str) -> None:
    """At the first position, and nowhere else."""
    settings = recipe(f"rnn-attention-additive{end}", "model.width=8").model
    model = build_model(settings, Sizes(SIZE, SIZE)).eval()
    assert isinstance(model, EncoderDecoder)
    memory = model.encode(torch.tensor([[2, 3, 4]]), Padded.whole(1, 3))
    states = memory.states.view(3, -1)

    def begun(at: int) -> Tensor:
        other = states.clone()
        other[at] = 0
        (block,) = model.start(replace(memory, states=other.view_as(memory.states))).layers
        assert block is not None
        assert isinstance(block.mixer, AttentiveState)
        return block.mixer.layers[0].hidden_BH

    assert torch.equal(begun(1), begun(2))
    assert not torch.equal(begun(0), begun(1))


def test_the_experts_of_moe_lstm_are_kept_in_balance() -> None:
    """The balance losses make loads even that begin far from it."""
    model = tiny("moe-lstm")
    experts = [part for part in model.modules() if isinstance(part, MixtureOfExperts)]
    assert len(experts) == 2
    torch.manual_seed(0)
    x_ND, layout = torch.randn(400, 64), Padded.whole(1, 400)
    mixture = experts[0]
    with torch.no_grad():
        mixture.gate_DE.normal_(std=0.3)
    before = mixture.eval()(x_ND[None], layout)[1].loads[0].float()
    optimiser = torch.optim.Adam([mixture.gate_DE], 0.03)
    mixture.train()
    for _ in range(60):
        optimiser.zero_grad()
        mixture(x_ND[None], layout)[1].loss.backward()
        optimiser.step()
    after = mixture.eval()(x_ND[None], layout)[1].loads[0].float()
    assert after.std() < 0.6 * before.std()
