"""`seqloom.train`, `evaluate` and `check` do what the commands do."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import seqloom
from seqloom.jobs import python
from seqloom.settings import SettingsError, UserError
from tests.jobs.asked_runs import Runs
from tests.jobs.run import write_pairs, write_recipe


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))
    return tmp_path


def test_train(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    recipe, pairs = write_recipe(place / "recipe.toml"), write_pairs(place / "pairs.tsv")
    done = seqloom.train(recipe, data=pairs, out=place / "run", changes=["training.steps=6"], view="none")
    assert done.place.step == 6
    assert repr(done).startswith(f"Trained('{place / 'run'}', steps=6, scores={{'loss': ")
    assert len(repr(done)) < 120 + len(str(place))
    assert (place / "run" / "model.safetensors").exists()
    assert done.scores.keys() >= {"loss", "exact"}
    assert capfd.readouterr() == ("", "")


def test_what_was_trained_stands_for_its_folder(place: Path) -> None:
    recipe, pairs = write_recipe(place / "recipe.toml"), write_pairs(place / "pairs.tsv")
    done = seqloom.train(recipe, data=pairs, out=place / "run", changes="training.steps=2", view="none")
    assert done.place.step == 2  # one change needs no list
    assert seqloom.load(done).opened[0].run.path == place / "run"
    assert seqloom.evaluate(done, data=pairs, metrics="exact").scores.keys() == {"run"}


def test_two_files(place: Path) -> None:
    recipe, pairs = write_recipe(place / "recipe.toml"), write_pairs(place / "pairs.tsv")
    for number, name in enumerate(("a.src", "a.tgt")):
        lines = [line.split("\t")[number] for line in pairs.read_text().splitlines()]
        (place / name).write_text("\n".join(lines) + "\n")
    data = [place / "a.src", place / "a.tgt"]
    done = seqloom.train(str(recipe), data=data, out=place / "run", changes=["training.steps=2"], view="none")
    assert done.corpora.examples > 250


def test_columns(place: Path) -> None:
    lines = write_pairs(place / "pairs.tsv").read_text().splitlines()
    (place / "pairs.tsv").write_text("".join(f"{n}\t{line}\n" for n, line in enumerate(lines)))
    recipe = write_recipe(place / "recipe.toml")
    more = {"out": place / "run", "changes": ["training.steps=2"], "view": "none"}
    done = seqloom.train(recipe, data=place / "pairs.tsv", source=3, target="2", **more)  # type: ignore[arg-type]
    assert (done.recipe.data.corpora[0].source, done.recipe.data.corpora[0].target) == ("3", "2")


def test_a_mistake(place: Path) -> None:
    with pytest.raises(UserError, match=r"nothing.tsv: no such file"):
        seqloom.train(write_recipe(place / "recipe.toml"), data=place / "nothing.tsv", out=place / "run")


def _refused(out: str) -> None:
    raise UserError("name another --out, or --force it, --skip-bad")


def test_messages_say_which_arguments_options_are(place: Path) -> None:
    recipe, pairs = write_recipe(place / "recipe.toml"), write_pairs(place / "pairs.tsv")
    with pytest.raises(UserError) as caught:
        seqloom.compare(recipe, data=pairs)
    assert str(caught.value) == (
        "recipe: how much may its training cost? Give --minutes N, --flops N or --epochs N, which hold for every "
        "recipe\n(in Python, arguments: minutes=, flops=, epochs=)"
    )
    with pytest.raises(UserError) as other:
        python._with_arguments(_refused)(out="x")
    assert str(other.value) == "name another --out, or --force it, --skip-bad\n(in Python, arguments: out=)"
    with pytest.raises(SettingsError, match=r"(?s)^--set modle\.width=3: .*\n\(in Python, arguments: changes=\)$"):
        seqloom.train(recipe, data=pairs, changes=["modle.width=3"])
    with pytest.raises(UserError, match=r"^--from run: is --out too; .*\n\(in Python, arguments: start=, out=\)$"):
        seqloom.train(recipe, data=pairs, out="run", start="run")
    assert seqloom.compare.__name__ == "compare"
    assert "epochs" in inspect.signature(seqloom.compare).parameters


SCRIPT = """
import seqloom
from seqloom.data import crew, prepare
prepare.LARGE = 0
first, started = crew.Worker.__init__, []
crew.Worker.__init__ = lambda self, encoder: started.append(self) or first(self, encoder)
done = seqloom.train("recipe.toml", data="pairs.tsv", out="run", changes=["training.steps=2"], view="none")
print(done.place.step, bool(started), all(worker.process.returncode == 0 for worker in started))
"""


@pytest.mark.slow
def test_a_script_without_a_guard_from_standard_input(place: Path) -> None:
    """Large data is encoded by other processes, which must not run the script again."""
    write_recipe(place / "recipe.toml")
    write_pairs(place / "pairs.tsv")
    ran = subprocess.run(
        [sys.executable, "-"], input=SCRIPT, capture_output=True, text=True, cwd=place, check=False, timeout=600
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "2 True True\n", "")


def test_importing_is_quick() -> None:
    """No torch before it is needed."""
    code = "import seqloom, sys; assert 'torch' not in sys.modules; seqloom.train; assert 'torch' in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_what_is_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'trian'"):
        _ = seqloom.trian  # type: ignore[attr-defined]


def test_evaluate(runs: Runs, place: Path) -> None:
    found = seqloom.evaluate(
        runs["pairs"], data=runs.files["pairs"], metrics="exact,cer", changes=["generation.beam=1"]
    )
    assert found.scores["pairs"].keys() == {"exact", "cer"}
    assert str(found) == repr(found)
    assert "\nexact   " in str(found)
    texts = place / "texts.txt"
    texts.write_text("one\ntwo\n")
    found = seqloom.evaluate(hypotheses=texts, references=texts)
    assert found.scores["texts.txt"] == {"chrf": 100.0, "ter": 0.0}
    assert str(found).startswith("BLEU is left out: ")
    with pytest.raises(UserError, match="nothing to evaluate"):
        seqloom.evaluate()


def test_evaluate_takes_columns_and_an_ensemble(runs: Runs, place: Path) -> None:
    turned = place / "turned.tsv"
    lines = [line.split("\t") for line in runs.files["pairs"].read_text().splitlines()]
    turned.write_text("".join(f"{target}\t{source}\n" for source, target in lines))
    asked = {"data": turned, "source": 2, "target": 1, "metrics": "exact", "changes": "generation.beam=1"}
    found = seqloom.evaluate([f"{name}={runs['pairs']}" for name in "ab"], ensemble=True, **asked)
    straight = seqloom.evaluate(runs["pairs"], data=runs.files["pairs"], metrics="exact", changes="generation.beam=1")
    assert len(found.scores) == 3
    assert {score["exact"] for score in found.scores.values()} == {straight.scores["pairs"]["exact"]}


def test_check_takes_columns(place: Path) -> None:
    file = place / "three.tsv"
    file.write_text("".join(f"{n}\tone {n}\ttwo {n}\n" for n in range(60)))
    assert "one 0" in str(seqloom.check(file, source=2, target=3, recipe=write_recipe(place / "recipe.toml")))


def test_check(place: Path) -> None:
    pairs = write_pairs(place / "pairs.tsv")
    with pairs.open("a") as file:
        file.write("abc\t\n")
    found = seqloom.check(pairs, recipe=write_recipe(place / "recipe.toml"))
    assert found.report.faulty
    assert str(found) == repr(found) == found.text().rstrip("\n")
    assert "pairs.tsv:301" in str(found)
