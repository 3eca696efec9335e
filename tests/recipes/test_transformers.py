"""Transformers and their relatives: sizes, what defines them, and that they learn."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import seqloom
from seqloom.jobs.corpora.too_long import longest_of
from seqloom.layers.attention import SelfAttention
from seqloom.layers.gated_linear import GatedLinearMixer
from seqloom.layers.layout import Packed
from seqloom.layers.paths import only_plain
from seqloom.layers.positions.music import MusicRelative
from seqloom.models.build import build_model
from seqloom.models.sizes import Sizes
from seqloom.tasks import task_class
from tests.recipes.shrunk import exact, obeys_the_laws, parameters, recipe

PAIRS = ("text.source={kind = 'characters'}", "model.width=48", "model.depth=2", "model.dropout=0.0")
TEXT = ("text.source={kind = 'words'}", "task.lines=documents", "model.width=48", "model.dropout=0.0")
NARROW = "model.feed_forward.width=192"
BOLD = "training.optimiser.rate=0.005"  # theirs are for wide models and hundreds of thousands of steps
SMALLER = {
    "transformer-base": (*PAIRS, NARROW, "training.optimiser.rate=0.002"),
    "transformer-base-small": PAIRS,
    "transformer-big": (*PAIRS, NARROW, "training.optimiser.rate=0.002"),
    "transformer-big-small": PAIRS,
    "transformer-modern": (*PAIRS, NARROW),
    "t5-style": (
        *PAIRS,
        NARROW,
        "model.mixer.head_width=8",
        "model.mixer.dropout=0.0",
        "model.feed_forward.dropout=0.0",
    ),
    "t5-style-small": PAIRS,
    "gpt": (*TEXT, NARROW, BOLD, "model.depth=2", "model.mixer.dropout=0.0"),
    "llama-style": (*TEXT, NARROW, BOLD, "model.depth=2", "model.mixer.heads=6", "model.mixer.key_heads=2"),
    "hybrid": (*TEXT, NARROW, BOLD, "model.depth=6"),
    "music-transformer": (
        "model.width=48",
        NARROW,
        BOLD,
        "model.depth=2",
        "model.dropout=0.0",
        "model.mixer.head_width=8",
        "model.mixer.relative.distance=4",
    ),
    "transformer-modern-small": PAIRS,
    "gpt-small": TEXT,
    "llama-style-small": TEXT,
    "hybrid-small": TEXT,
    "music-transformer-small": ("model.width=48", "model.dropout=0.0", "model.mixer.relative.distance=4"),
}
STEPS = {
    "transformer-base": 200,
    "transformer-base-small": 200,
    "transformer-modern": 130,
    "t5-style": 150,
    "hybrid": 150,
    "transformer-big": 200,
    "transformer-big-small": 200,
    "transformer-modern-small": 130,
}
PICTURES = ("model.width=48", "model.depth=2", "model.input.patch=2", "model.input.columns=4", "model.input.channels=1")


@pytest.mark.parametrize("name", ["transformer-big", "t5-style", "gpt", "llama-style", "vit"])
def test_as_many_parameters_as_were_published(name: str) -> None:
    assert parameters(name) == pytest.approx(recipe(name).target.parameters, rel=0.02)


def test_transformer_base_is_three_percent_smaller_than_the_paper_says() -> None:
    assert recipe("transformer-base").target.counted
    assert parameters("transformer-base") == 63_082_496


def test_the_music_transformer_adds_a_table_to_each_layer() -> None:
    """No number was published. 8 heads of 64, and vectors for 1,023 distances to each side and for none."""
    attention = 4 * 256 * 512 + 3 * 512 + 256 + 8 * (2 * 1024 - 1) * 64
    layer = attention + 2 * 256 * 2048 + 2048 + 256 + 2 * 2 * 256
    assert parameters("music-transformer") == 6 * layer + 2 * 256 + 2 * 388 * 256


@pytest.mark.parametrize("name", SMALLER)
def test_learns_by_heart(name: str) -> None:
    assert exact(recipe(name, *SMALLER[name]), STEPS.get(name, 100)) >= 0.99


@pytest.mark.parametrize("name", SMALLER)
def test_laws(name: str) -> None:
    obeys_the_laws(recipe(name, *SMALLER[name]))


@pytest.mark.parametrize("name", ["vit", "vit-small"])
def test_laws_of_pictures(name: str) -> None:
    obeys_the_laws(recipe(name, *PICTURES))


def _attention(name: str, *changes: str) -> SelfAttention:
    torch.manual_seed(1)
    model = build_model(recipe(name, *changes).model, Sizes(11, 11)).double().eval()
    return next(module for module in model.modules() if isinstance(module, SelfAttention))


def test_music_skewed_is_music_by_each_pair() -> None:
    """The fast path skews one product; the plain one looks each distance up. See also layers/positions."""
    attention = _attention("music-transformer-small", "model.mixer.relative.distance=5")
    x, layout = torch.randn(12, 128, dtype=torch.float64), Packed.of([12])
    with torch.no_grad():
        skewed, _ = attention(x, layout)
        with only_plain():
            direct, _ = attention(x, layout)
        attention.relative = None
        without, _ = attention(x, layout)
    assert torch.allclose(skewed, direct, atol=1e-12)
    assert not torch.allclose(skewed, without, atol=1e-3)


def test_music_is_equation_3() -> None:
    """softmax((QKᵀ + S_rel) / √d) V, head by head: the bias is scaled with the products."""
    attention = _attention("music-transformer-small", "model.mixer.relative.distance=5")
    x_TD = torch.randn(9, 128, dtype=torch.float64)
    relative = attention.relative
    assert isinstance(relative, MusicRelative)
    found = []
    with torch.no_grad():
        q_HTK, k_HTK, v_HTK = attention.heads.qkv(x_TD).unflatten(-1, (3, 4, 32)).permute(1, 2, 0, 3)
        for q_TK, k_TK, v_TK, key_MK in zip(q_HTK, k_HTK, v_HTK, relative.key_HMK, strict=True):
            index_TT = (torch.arange(9) - torch.arange(9)[:, None]).clamp(-4, 4) + 4
            relation_TT = torch.einsum("tsk,tk->ts", key_MK[index_TT], q_TK)
            scores_TT = (q_TK @ k_TK.T + relation_TT) / 32**0.5
            seen_TT = scores_TT.masked_fill(torch.ones(9, 9).triu(1).bool(), -torch.inf)
            found.append(seen_TT.softmax(-1) @ v_TK)
        wanted = attention.heads.out(torch.cat(found, -1))
        torch.testing.assert_close(attention(x_TD, Packed.of([9]))[0], wanted)


def test_t5_has_one_table_for_all_layers_of_a_stack() -> None:
    names = build_model(recipe("t5-style-small").model, Sizes(11, 11)).state_dict()
    tables = {values.data_ptr() for name, values in names.items() if "relative" in name}
    assert len(tables) == 2


def test_llama_shares_keys_among_queries_and_turns_them() -> None:
    heads = _attention("llama-style-small").heads
    assert (heads.H, heads.G) == (6, 2)
    swapped = _attention("llama-style-small")
    x = torch.randn(3, 192, dtype=torch.float64)
    with torch.no_grad():
        (one, _), (two, _) = (swapped(x[order], Packed.of([3])) for order in ([0, 1, 2], [1, 0, 2]))
    assert not torch.allclose(one[2], two[2], atol=1e-4)  # without positions the last would not know the order


def test_the_hybrid_has_few_attention_layers() -> None:
    model = build_model(recipe("hybrid").model.model_copy(update={"width": 48}), Sizes(11, 11))
    kinds = [type(module) for module in model.modules() if isinstance(module, SelfAttention | GatedLinearMixer)]
    assert kinds.count(SelfAttention) == 2
    assert kinds.count(GatedLinearMixer) == 10


@pytest.mark.parametrize("text", [False, True])
def test_vit_learns_pictures_by_heart(tmp_path: Path, text: bool) -> None:
    """From a file to labels: the whole way, of arrays, and of pixels that are tokens."""
    draw = np.random.default_rng(3)
    pictures = draw.integers(0, 17, (24, 8, 8))
    names = draw.choice(["one", "two", "three"], 24).tolist()
    lines = [" ".join(map(str, picture.flatten())) for picture in pictures]
    file = tmp_path / ("pictures.tsv" if text else "pictures.npz")
    if text:
        file.write_text("".join(f"{line}\t{name}\n" for line, name in zip(lines, names, strict=True)))
    else:
        np.savez(file, images=pictures, labels=names)
    changes = ["training.steps=100", "training.optimiser.rate=0.005", "training.optimiser.decay=0.0"]
    changes += ["model.width=48", "model.depth=2", "model.dropout=0.0", "training.threads=1"]
    changes += ["task.reads=text"] if text else []
    run = tmp_path / "run"
    seqloom.train("vit-small", data=file, valid=file, out=run, changes=changes, view="none")
    asked: Any = lines if text else list(pictures[..., None])
    assert [answer.text for answer in seqloom.load(run).predict(asked)] == names


def test_vit_reads_pictures_of_its_size() -> None:
    """As they come; none is too long to be read."""
    for name, pixels in ("vit", 224 * 224), ("vit-small", 8 * 8):
        made = recipe(name)
        assert task_class(made.task).shape == "series"
        longest = longest_of(made)
        assert longest is not None
        assert longest.tokens == pixels


def test_vit_reads_patches_not_lines() -> None:
    """Four pixels make a step; what that changes is in test_positions."""
    made = build_model(recipe("vit-small").model, Sizes(11, 3))
    assert made.input.embedding.inputs.in_features == 4
    assert sum(name.endswith("weight_PD") for name in made.state_dict()) == 1
