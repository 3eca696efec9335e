"""Impossible combinations are refused before anything is built: with the place, the reason and the way out."""

import pytest

from seqloom.layers.attention import Attention
from seqloom.layers.dense import Dense
from seqloom.layers.embedding import Tokens, Vectors
from seqloom.layers.norms import LayerNorm, RMSNorm
from seqloom.models.build import build_model
from seqloom.models.settings import ModelSettings
from seqloom.models.sizes import Sizes
from seqloom.models.stack_settings import StackSettings
from seqloom.settings import loads
from tests.models.settings_text import HEADS, Recipe, message, recipe


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            recipe('family = "decoder-only"\nmixer = { kind = "attentive-recurrence" }'),
            "x.toml:5: [model.mixer] it reads a source, and family 'decoder-only' has none",
        ),
        (
            recipe('family = "decoder-only"\nmixer = { kind = "recurrence", initial = "memory" }'),
            "x.toml:5: [model.mixer] it reads a source, and family 'decoder-only' has none",
        ),
        (
            recipe('family = "encoder-only"\nmixer = { kind = "attentive-recurrence" }'),
            "x.toml:5: [model.mixer] it attends to a memory and goes step by step: it belongs into a decoder",
        ),
        (
            recipe(HEADS + '[model.encoder]\nmixer = { kind = "recurrence", initial = "memory" }'),
            "x.toml:6: [model.encoder.mixer] only a decoder has a memory to begin from",
        ),
        (
            recipe('family = "decoder-only"\n' + HEADS + 'cross = { kind = "attention", heads = 2 }'),
            "x.toml:6: [model.cross] a model of family 'decoder-only' has no second sequence to read",
        ),
        (
            recipe('mixer = { kind = "recurrence" }'),
            "x.toml:1: [model] no layer of the decoder reads the source; set cross, for example { kind = 'attention' }",
        ),
        (
            recipe(HEADS + "[model.decoder]\ncross = { kind = 'none' }"),
            "x.toml:6: [model.decoder.cross] no layer of the decoder reads the source; "
            "set cross, for example { kind = 'attention' }",
        ),
        (
            recipe(HEADS + 'cross = { kind = "attention", heads = 3 }'),
            "x.toml:5: [model.cross] width 8 cannot be split into 3 heads of equal width; 2 would do, or width 6",
        ),
        (
            recipe(
                'mixer = { kind = "attention", heads = 3 }\ncross = { kind = "bottleneck", summary = "ends" }', width=9
            ),
            "x.toml:5: [model.cross] 'ends' takes half of the width from each end, so the width must be even, not 9",
        ),
        (
            recipe(HEADS + '[model.decoder]\nmixer = { kind = "attentive-recurrence", attention = { heads = 3 } }'),
            "x.toml:6: [model.decoder.mixer.attention] width 8 cannot be split into 3 heads of equal width; "
            "2 would do, or width 6",
        ),
        (
            recipe('family = "decoder-only"\n' + HEADS + "[model.encoder]\ndepth = 3"),
            "x.toml:6: [model.encoder] a model of family 'decoder-only' has no encoder",
        ),
        (
            recipe('family = "encoder-only"\n' + HEADS + "[model.decoder]\ndepth = 3"),
            "x.toml:6: [model.decoder] a model of family 'encoder-only' has no decoder",
        ),
        (
            recipe('family = "decoder-only"\n' + HEADS + 'target_input = { kind = "vectors" }'),
            "x.toml:6: [model.target_input] a model of family 'decoder-only' reads one sequence only",
        ),
        (
            recipe(HEADS + 'output = { kind = "tags" }'),
            "x.toml:5: [model.output] tags are read off an encoder: use family = 'encoder-only'",
        ),
    ],
)
def test_a_part_that_the_family_lacks(text: str, expected: str) -> None:
    assert message(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            recipe('mixer = { kind = "attention", heads = 3 }\npositions = { kind = "sinusoidal" }', width=9),
            "x.toml:5: [model.positions] sinusoids come in pairs of sine and cosine, so their width must be even, "
            "not 9",
        ),
        (
            recipe(HEADS + 'positions = { kind = "sinusoidal", join = "concat", width = 3 }'),
            "x.toml:5: [model.positions] sinusoids come in pairs of sine and cosine, so their width must be even, "
            "not 3",
        ),
        (
            recipe(HEADS + 'positions = { kind = "learned", join = "concat" }'),
            "x.toml:5: [model.positions] say how much of the model's width positions take: positions.width",
        ),
        (
            recipe(HEADS + 'positions = { kind = "learned", width = 3 }'),
            "x.toml:5: [model.positions] positions that are added have the model's width; "
            "set it only with join = 'concat'",
        ),
        (
            recipe(HEADS + 'positions = { kind = "learned", join = "concat", width = 8 }'),
            "x.toml:5: [model.positions] positions would take 8 of 8 and leave nothing for the tokens",
        ),
        (
            recipe(HEADS + 'positions = { kind = "sinusoidal", join = "concat", width = 2 }\ntie = "all"'),
            "x.toml:6: [model] with concatenated positions token vectors are narrower than the output: not shareable",
        ),
        (
            recipe('family = "encoder-only"\n' + HEADS + 'output = { kind = "tags" }\ntie = "output"'),
            "x.toml:7: [model] an output of tags has no token vectors to share",
        ),
        (
            recipe(HEADS + 'input = { kind = "vectors" }\ntie = "all"'),
            "x.toml:6: [model] an input of vectors has no token vectors to share; use tie = 'output'",
        ),
        (
            recipe('family = "decoder-only"\n' + HEADS + 'tie = "inputs"'),
            "x.toml:6: [model] a model of family 'decoder-only' has one input only; use tie = 'output'",
        ),
        (
            recipe('family = "encoder-only"\n' + HEADS + 'input = { kind = "patches" }\ntie = "output"'),
            "x.toml:7: [model] an input of patches has no token vectors to share",
        ),
    ],
)
def test_ends_that_do_not_fit(text: str, expected: str) -> None:
    assert message(text) == expected


@pytest.mark.parametrize("tie", ["inputs", "output", "all"])
def test_a_tie_to_a_target_without_token_vectors(tie: str) -> None:
    text = recipe(HEADS + f'target_input = {{ kind = "vectors" }}\ntie = "{tie}"')
    assert message(text).startswith("x.toml:6: [model] ")


def test_an_output_may_be_tied_whatever_the_encoder_does() -> None:
    text = recipe(
        HEADS + 'tie = "output"\n[model.encoder]\npositions = { kind = "learned", join = "concat", width = 2 }'
    )
    model = build_model(loads(text, Recipe).model, Sizes(5, 7))
    assert model.sizes == Sizes(5, 7)


def test_a_side_has_no_input_of_its_own() -> None:
    assert message(recipe(HEADS + '[model.encoder]\ninput = { kind = "tokens" }')) == (
        "x.toml:6: [model.encoder] has no setting 'input'; did you mean model.input?"
    )


def test_what_is_possible_all_the_same() -> None:
    for text in (
        recipe(HEADS),
        recipe('mixer = { kind = "recurrence" }\ncross = { kind = "bottleneck" }'),
        recipe('[model.encoder]\nmixer = { kind = "recurrence", direction = "both" }\n[model.decoder]\n' + HEADS),
        recipe('[model.encoder]\nnorm = { kind = "batch" }\n' + HEADS + "[model.decoder]\n" + HEADS),
        recipe('family = "encoder-only"\nnorm = { kind = "batch" }\n' + HEADS),
        recipe('family = "encoder-only"\noutput = { kind = "classes" }\n' + HEADS),
        recipe('family = "decoder-only"\nmixer = { kind = "convolution", kernel = 4 }'),
        recipe(HEADS + 'input = { kind = "vectors" }\ntie = "output"'),
        recipe(HEADS + 'output = { kind = "numbers" }'),
        recipe('mixer = { kind = "attention", heads = 3, head_width = 5 }'),
        recipe(HEADS + "[model.decoder]\nmixer = { kind = 'attentive-recurrence' }"),
    ):
        build_model(loads(text, Recipe).model, Sizes(5, 5))


def test_what_a_side_changes_and_what_it_keeps() -> None:
    text = recipe(
        HEADS
        + 'dropout = 0.1\nnorm = { kind = "rms" }\n'
        + "[model.encoder]\ndepth = 5\ndropout = 0.0\n"
        + '[model.decoder]\nmixer = { kind = "attention", heads = 4 }\nnorm = { kind = "layer", place = "post" }\n'
    )
    model = loads(text, Recipe).model
    encoder, decoder = model.side("encoder"), model.side("decoder")
    assert (encoder.depth, decoder.depth, model.depth) == (5, 2, 2)
    assert (encoder.dropout, decoder.dropout) == (0.0, 0.1)
    assert (encoder.mixer, decoder.mixer) == (Attention(heads=2), Attention(heads=4))
    assert (encoder.norm, decoder.norm) == (RMSNorm(), LayerNorm(place="post"))
    assert encoder.feed_forward == decoder.feed_forward == Dense()


def test_a_side_may_set_what_is_the_default() -> None:
    """What was written counts, not what differs from the default."""
    text = recipe(HEADS + 'norm = { kind = "rms" }\n[model.encoder]\nnorm = { kind = "layer" }\n')
    model = loads(text, Recipe).model
    assert (model.side("encoder").norm, model.side("decoder").norm) == (LayerNorm(), RMSNorm())


def test_a_side_replaces_a_table_as_a_whole() -> None:
    text = recipe(
        'mixer = { kind = "attention", heads = 2, window = 3 }\n'
        '[model.encoder]\nmixer = { kind = "attention", heads = 4 }'
    )
    assert loads(text, Recipe).model.side("encoder").mixer == Attention(heads=4)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", Tokens()),
        ('input = { kind = "tokens", scale = true }', Tokens(scale=True)),
        ('input = { kind = "vectors" }', Tokens()),
        ('output = { kind = "numbers" }', Vectors()),
        ('input = { kind = "patches", length = 3 }\noutput = { kind = "numbers" }', Vectors()),
    ],
)
def test_what_a_decoder_reads_back(text: str, expected: Tokens | Vectors) -> None:
    assert loads(recipe(HEADS + text), Recipe).model.decoder_input == expected


def test_the_settings_of_a_model_are_those_of_a_good_one_by_default() -> None:
    assert loads("", Recipe).model == ModelSettings()
    assert ModelSettings().side("encoder") == StackSettings()


def test_what_would_be_ignored_is_refused() -> None:
    assert message(recipe(HEADS + '[model.encoder]\ncross = { kind = "bottleneck" }')) == (
        "x.toml:6: [model.encoder.cross] an encoder reads no other sequence; set it in [model.decoder]"
    )
    text = recipe('family = "encoder-only"\n' + HEADS + 'output = { kind = "numbers", quantiles = [0.5, 1.5] }')
    assert message(text).startswith("x.toml:6: [model.output] ")


def test_all_that_cannot_be_is_said_at_once() -> None:
    text = '[model]\nwidth = 9\nmixer = { kind = "attention", heads = 2 }\npositions = { kind = "sinusoidal" }\n'
    text += 'norm = { kind = "batch" }\n'
    assert message(text).splitlines() == [
        "x.toml:3: [model.mixer] width 9 cannot be split into 2 heads of equal width; 1 would do, or width 8",
        "x.toml:4: [model.positions] sinusoids come in pairs of sine and cosine, so their width must be even, not 9",
        "x.toml:5: [model.norm] batch norm takes its statistics over all steps, the future too: "
        "a causal layer must not see it",
    ]
