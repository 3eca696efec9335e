"""What cannot be compared: told before anything is trained."""

from pathlib import Path
from typing import Any

import pytest

import seqloom
from seqloom.jobs.comparing.worker import Work
from seqloom.jobs.deciding.asked import Budget
from seqloom.settings import UserError
from tests.jobs.asked_runs import RECIPES
from tests.jobs.comparing.systems import QUICK, compared, write_systems
from tests.jobs.run import PAIRS, write_recipe


@pytest.fixture
def pairs(place: Path, worked: list[Work]) -> Path:
    return write_systems(place)


@pytest.mark.parametrize(
    ("systems", "more", "message"),
    [
        ((), {}, "nothing to compare"),
        (("a.toml",), {"budget": None}, "how much may its training cost"),
        (("a.toml",), {"budget": Budget("flops", -1.0)}, "--flops -1.0: a number above 0 is needed"),
        (("a.toml",), {"data": ("-",)}, "standard input can be read once"),
        (("a.toml",), {"test": ("pairs.tsv",)}, "pairs.tsv: a is trained on it (pairs.tsv)"),
        (
            ("a.toml",),
            {"test": (), "valid": ("pairs.tsv",)},
            "pairs.tsv: a is trained on it (pairs.tsv); --valid, which is scored without a --test, has to be what no",
        ),
        (("a.toml",), {"changes": (), "source": "zzz"}, "no column 'zzz'"),
        (("a.toml",), {"budget": Budget("minutes", float("inf"))}, "--minutes inf: a number above 0 is needed, which"),
        (("a.toml", "./a.toml"), {}, "./a.toml and a.toml: both would be called 'a'"),
        (("a.toml", "tags.toml"), {}, "tags: does another task (tag) than a (translate)"),
        (("a.toml", "reward.toml"), {}, "reward: training.reward is for a model that has learnt already"),
        (("lm.toml", "masked.toml"), {}, "masked: does another task (masked) than lm (language)"),
        (("a.toml", "nothing.toml"), {}, "nothing.toml"),
        (("a.toml", "empty"), {}, "empty: holds no run that is trained"),
        (("a.toml", "b.toml"), {"ensemble": ("a", "bb")}, "--ensemble bb: no such system; did you mean 'b'?"),
        (("a.toml", "b.toml"), {"ensemble": ("a",)}, "one system is no ensemble"),
        (("a.toml", "b.toml"), {"baseline": "xyz"}, "--baseline xyz: no such system; it is 'a' or 'b'"),
        (("a.toml",), {"changes": ("modle.width=3",)}, "did you mean 'model'?"),
        (
            ("a.toml",),
            {"changes": ("evaluation.stride=3",)},
            "evaluation.stride: is of running text, and a reads none in windows; leave it out",
        ),
        (("a.toml",), {"out": Path("strange")}, "strange: holds other things than a comparison (file)"),
        (("a.toml",), {"out": Path("a.toml")}, "a.toml: is a file"),
    ],
)
def test_mistakes_are_told_before_anything_is_trained(
    pairs: Path, worked: list[Work], systems: tuple[str, ...], more: dict[str, Any], message: str
) -> None:
    tags = "[task]\nkind = 'tag'\n[model]\nfamily = 'encoder-only'\noutput = { kind = 'tags' }\n"
    write_recipe(pairs / "tags.toml", text=tags)
    write_recipe(pairs / "lm.toml", text="[task]\nkind = 'language'\n[model]\nfamily = 'decoder-only'\n")
    write_recipe(pairs / "reward.toml", "reward = { kind = 'gleu' }\n")
    write_recipe(pairs / "masked.toml", text=RECIPES["masked"][0])
    for name in ("empty", "strange"):
        (pairs / name).mkdir()
    (pairs / "strange" / "file").touch()
    with pytest.raises(UserError) as caught:
        compared(*systems, **more)
    assert message in str(caught.value)
    assert worked == []
    assert not Path("out").exists()


def test_a_run_needs_a_test(pairs: Path) -> None:
    seqloom.train("a.toml", data="pairs.tsv", out="runs/a", changes=["training.steps=0"], view="none")
    with pytest.raises(UserError, match="may have seen what others hold out: name a --test FILE"):
        compared("runs/a", "b.toml", test=())
    with pytest.raises(UserError, match=r"pairs\.tsv: a is trained on it"):
        compared("runs/a", test=("pairs.tsv",), budget=None, data=())
    with pytest.raises(UserError, match="--epochs has nothing to limit"):
        compared("runs/a", data=())


def test_another_comparison_is_not_written_over(pairs: Path, worked: list[Work]) -> None:
    compared("a.toml")
    with pytest.raises(UserError, match=r"(?s)out: holds another comparison.*budget: .*1.* there, .*2.* now"):
        compared("a.toml", budget=Budget("epochs", 2))
    with pytest.raises(UserError, match="settings"):
        compared("a.toml", changes=(*QUICK, "model.dropout=0.3"))
    assert len(worked) == 1
    steps = compared("a.toml", budget=Budget("epochs", 2), force=True).rows[0].facts
    assert steps is not None
    assert steps.steps == 16
    assert len(worked) == 2


def test_systems_learn_from_the_same(pairs: Path, worked: list[Work]) -> None:
    for name, file in ("a", "pairs.tsv"), ("b", "test.tsv"):
        write_recipe(pairs / f"{name}.toml", f"[[data.corpora]]\nfiles = ['{file}']\n")
    with pytest.raises(UserError, match="b: learns from other data than a; name it for all with --data"):
        compared("a.toml", "b.toml", data=(), test=())
    assert not worked


def test_a_recipe_that_changed_is_told(pairs: Path, worked: list[Work]) -> None:
    """A run is not gone on with as if nothing had happened, and no table loses its scores."""
    compared("a.toml", "b.toml")
    table = Path("out/table.txt").read_text()
    write_recipe(pairs / "b.toml", text=PAIRS.replace("width = 16", "width = 8"))
    with pytest.raises(UserError, match=r"(?s)^out/runs/b: holds a run of another recipe.*width: 32 there, 8 now"):
        compared("a.toml", "b.toml", "words.toml")
    assert len(worked) == 2
    assert Path("out/table.txt").read_text() == table
    assert compared("a.toml", "b.toml", force=True).scores.keys() == {"a", "b"}
