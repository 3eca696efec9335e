"""Layers that cannot be are refused before anything is built: with the place, the reason and the way out."""

import pytest

from seqloom.layers.attention import Attention
from seqloom.layers.cross_attention import CrossAttention
from seqloom.layers.mixers import NoCross
from seqloom.models.stack_settings import StackSettings
from seqloom.settings import loads
from tests.models.settings_text import HEADS, Recipe, message, recipe


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            recipe('mixer = { kind = "attention", heads = 3 }'),
            "x.toml:4: [model.mixer] width 8 cannot be split into 3 heads of equal width; 2 would do, or width 6",
        ),
        (  # four heads would be as near, but of an odd width
            recipe('mixer = { kind = "attention", heads = 5 }', width=36),
            "x.toml:4: [model.mixer] width 36 cannot be split into 5 heads of equal width; 6 would do, or width 40",
        ),
        (
            recipe("[model.mixer]\nkind = 'attention'\nkey_heads = 3\nheads = 4"),
            "x.toml:6: [model.mixer] 4 query heads cannot share 3 key heads evenly",
        ),
        (
            "[model]\nwidth = 12",
            "x.toml:1: [model.mixer] width 12 cannot be split into 8 heads of equal width; 6 would do, or width 16",
        ),
        (
            recipe('mixer = { kind = "attention", heads = 2, window = 3, block = 3 }'),
            "x.toml:4: [model.mixer] a window and blocks exclude each other; keep one",
        ),
        (
            recipe('mixer = { kind = "attention", heads = 2, project = false, key_heads = 1 }'),
            "x.toml:4: [model.mixer] without projections there are as many key heads as query heads",
        ),
        (
            recipe('mixer = { kind = "attention", heads = 2, project = false, activation = "relu" }'),
            "x.toml:4: [model.mixer] activation belongs to the projections, and project is false",
        ),
        (
            recipe('mixer = { kind = "attention", heads = 2, output = false, head_width = 3 }'),
            "x.toml:4: [model.mixer] without output the heads must fill the width: 2 × 3 ≠ 8",
        ),
        (
            recipe('mixer = { kind = "attention", heads = 2, relative = { kind = "rotary" } }', width=6),
            "x.toml:4: [model.mixer.relative] rotary positions turn pairs of numbers, so a head's width must be even, "
            "not 3",
        ),
        (
            recipe('mixer = { kind = "attention", heads = 2, score = "additive", relative = { kind = "music" } }'),
            "x.toml:4: [model.mixer.relative] music positions are products with the query; the additive score has none",
        ),
        (
            recipe('mixer = { kind = "attention", heads = 2, relative = { kind = "t5", buckets = 8, distance = 4 } }')
            + "\nfamily = 'decoder-only'",
            "x.toml:4: [model.mixer.relative] distance must be larger than the buckets that hold one distance each",
        ),
        (
            recipe('family = "encoder-only"\nmixer = { kind = "convolution", kernel = 4 }'),
            "x.toml:5: [model.mixer] without a causal mask the kernel must have a middle: an odd number, not 4",
        ),
        (
            recipe('family = "decoder-only"\nmixer = { kind = "convolution", gated = true, activation = "relu" }'),
            "x.toml:5: [model.mixer] a gated convolution has its gate for that; leave the activation out",
        ),
        (
            recipe('family = "decoder-only"\nmixer = { kind = "gated-linear", heads = 3 }'),
            "x.toml:5: [model.mixer] width 8 cannot be split into 3 heads of equal width; 2 would do, or width 6",
        ),
        (
            recipe('family = "encoder-only"\nmixer = { kind = "recurrence", direction = "both" }', width=9),
            "x.toml:5: [model.mixer] two directions side by side need an even width, not 9",
        ),
        (
            recipe(HEADS + 'feed_forward = { kind = "experts", experts = 2, active = 3 }'),
            "x.toml:5: [model.feed_forward] a token cannot use 3 of 2 experts",
        ),
        (
            recipe(HEADS + "feed_forward = [\n{ kind = 'dense' },\n{ kind = 'experts', experts = 2, active = 3 },\n]"),
            "x.toml:7: [model.feed_forward.1] a token cannot use 3 of 2 experts",
        ),
        (
            recipe('[[model.mixer]]\nkind = "convolution"\n[[model.mixer]]\nkind = "attention"\nheads = 5\n')
            + "[model.decoder]\ncross = { kind = 'bottleneck' }",
            "x.toml:8: [model.mixer.1] width 8 cannot be split into 5 heads of equal width; 4 would do, or width 10",
        ),
    ],
)
def test_a_layer_that_cannot_be(text: str, expected: str) -> None:
    assert message(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            recipe(HEADS + 'norm = { kind = "batch" }'),
            "x.toml:5: [model.norm] batch norm takes its statistics over all steps, the future too: "
            "a causal layer must not see it",
        ),
        (
            recipe(HEADS + '[model.decoder]\nnorm = { kind = "batch" }'),
            "x.toml:6: [model.decoder.norm] batch norm takes its statistics over all steps, the future too: "
            "a causal layer must not see it",
        ),
        (
            recipe('mixer = { kind = "recurrence", direction = "backward" }\ncross = { kind = "bottleneck" }'),
            "x.toml:4: [model.mixer] 'backward' reads the future, which a causal layer must not; use 'forward'",
        ),
        (
            recipe(
                HEADS + '[model.decoder]\nmixer = { kind = "recurrence", direction = "both" }\n'
                'cross = { kind = "bottleneck" }'
            ),
            "x.toml:6: [model.decoder.mixer] 'both' reads the future, which a causal layer must not; use 'forward'",
        ),
    ],
)
def test_a_decoder_that_would_see_the_future(text: str, expected: str) -> None:
    assert message(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            recipe('mixer = [{ kind = "attention", heads = 2 }, { kind = "convolution" }]', depth=3),
            "x.toml:4: [model] mixer: a list of 2 layers does not fill a depth of 3 evenly",
        ),
        (recipe("mixer = []"), "x.toml:4: [model] mixer: a list of 0 layers does not fill a depth of 2 evenly"),
        (
            recipe(HEADS + "widths = [8, 8, 8]"),
            "x.toml:5: [model] widths: a list of 3 layers does not fill a depth of 2 evenly",
        ),
        (
            recipe(HEADS + "widths = [8, 9]"),
            "x.toml:4: [model.mixer] width 9 cannot be split into 2 heads of equal width; 1 would do, or width 8",
        ),
        (
            recipe("mixer = { kind = 'convolution', depthwise = true }\nwidths = [8, 6]\nfamily = 'decoder-only'"),
            "x.toml:4: [model.mixer] 8 features cannot become 6 each by itself",
        ),
        (
            recipe(
                "mixer = { kind = 'convolution' }\nwidths = [8, 6]\n"
                "[model.decoder]\ncross = { kind = 'aligned', project = false }"
            ),
            "x.toml:7: [model.decoder.cross] a source's state of width 8 needs a map to be read at width 6",
        ),
        (
            recipe(
                "mixer = { kind = 'convolution' }\nwidths = [8, 6]\n"
                "[model.decoder]\nmixer = { kind = 'attentive-recurrence' }"
            ),
            "x.toml:7: [model.decoder.mixer] it reads a source of its own width: leave widths out",
        ),
        (
            recipe(HEADS + "tie = 'output'\noutput = { kind = 'tokens', narrow = 4 }"),
            "x.toml:5: [model] token vectors have the model's width, and output.narrow is another: not shareable",
        ),
        (
            recipe(HEADS + "family = 'decoder-only'\nunfold = { times = 1.2 }"),
            "x.toml:6: [model.unfold] a model of family 'decoder-only' has no decoder that stands on an encoder",
        ),
        (
            recipe(HEADS + '[model.encoder]\ndepth = 3\nfeed_forward = [{ kind = "dense" }, { kind = "none" }]'),
            "x.toml:7: [model.encoder] feed_forward: a list of 2 layers does not fill a depth of 3 evenly",
        ),
        (
            recipe(HEADS + '[model.decoder]\ncross = [{ kind = "bottleneck" }, { kind = "none" }, { kind = "none" }]'),
            "x.toml:6: [model.decoder] cross: a list of 3 layers does not fill a depth of 2 evenly",
        ),
    ],
)
def test_a_list_that_does_not_fill_the_depth(text: str, expected: str) -> None:
    assert message(text) == expected


def test_relative_positions_live_in_the_mixer() -> None:
    """They are no kind of positions at the model's level."""
    assert message(recipe(HEADS + 'positions = { kind = "rotary" }')) == (
        "x.toml:5: [model.positions] rotary positions are relative, and belong to attention: "
        "mixer.relative = { kind = 'rotary' }"
    )


def test_laplacian_positions_live_in_the_task() -> None:
    assert message(recipe(HEADS + 'positions = { kind = "laplacian" }')) == (
        "x.toml:5: [model.positions] Laplacian positions are of a graph, and belong to its task: "
        "task.positions = { kind = 'laplacian' }"
    )


def test_attention_over_the_source_is_like_the_mixer_where_nothing_is_said() -> None:
    stack = StackSettings(
        depth=1, mixer=Attention(heads=4, key_heads=2, bias=False, window=3, qk_norm=True, dropout=0.1)
    )
    assert stack.crosses() == [CrossAttention(heads=4, key_heads=2, bias=False, qk_norm=True, dropout=0.1)]
    text = recipe('mixer = [{ kind = "attention", heads = 2 }, { kind = "convolution" }]')
    assert loads(text, Recipe).model.side("decoder").crosses() == [CrossAttention(heads=2), NoCross()]


@pytest.mark.parametrize(
    ("encoder", "why"),
    [
        ('{ kind = "convolution" }', "the encoder has no recurrence here to begin from"),
        ('{ kind = "recurrence", direction = "both" }', "the encoder goes both ways here"),
        ('{ kind = "recurrence", cell = "gru" }', "the encoder's cell is gru, this one is lstm"),
        ('{ kind = "recurrence", depth = 2 }', "the encoder has 2 recurrent layers here, the decoder 1"),
        ('{ kind = "recurrence", hidden = 5 }', "widths [[5, 5]], the decoder's [[8, 8]]"),
    ],
)
@pytest.mark.parametrize("kind", ["recurrence", "attentive-recurrence"])
def test_layers_begin_where_like_ones_ended(encoder: str, why: str, kind: str) -> None:
    both = f'[model.encoder]\nmixer = {encoder}\n[model.decoder]\nmixer = {{ kind = "{kind}", initial = "layers" }}'
    assert why in message(recipe(both))
    assert message(recipe(both)).startswith("x.toml:7: [model.decoder.mixer] ")
