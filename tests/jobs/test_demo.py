"""A demo by its real path, on a few examples and for a few steps."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pytest

from seqloom.jobs import demo as job
from seqloom.jobs import train as train_job
from seqloom.jobs.demo import Shown, demo, is_right
from seqloom.jobs.demos import Demo, Example, Name, make
from seqloom.jobs.demos.write import read
from seqloom.jobs.learning.finished import finished
from seqloom.settings import UserError
from seqloom.store import RunFolder
from tests.jobs.run import PAIRS

TINY = PAIRS.replace("steps = 40", "steps = 4").replace("validate_every = 8", "validate_every = 2")
CLASSES = """
[task]
kind = "classify"
[text]
source = { kind = "words" }
[model]
family = "encoder-only"
width = 8
depth = 1
mixer = { kind = "attention", heads = 2 }
feed_forward = { kind = "dense", width = 16 }
output = { kind = "classes" }
[training]
steps = 4
batch = 500
"""


@cache
def few(name: Name, seed: int = 1, train: int | None = None) -> Demo:
    whole = make(name, seed, 200)
    return replace(whole, valid=whole.valid[:10], test=whole.test[:40])


@dataclass
class Small:
    """Where a small demo is run, and how often it was trained."""

    folder: Path
    trained: int = 0

    def run(self, name: Name = "dates", **options: object) -> Shown:
        return demo(name, out=self.folder / "run", view="none", **{"minutes": 5.0, **options})  # type: ignore[arg-type]

    @property
    def out(self) -> Path:
        return self.folder / "run"


def prepare(patch: pytest.MonkeyPatch, recipes: Path, here: Small) -> None:
    """Few examples and tiny models in place of the real ones."""
    for name, content in ("pairs", TINY), ("classes", CLASSES):
        (recipes / f"{name}.toml").write_text(content, encoding="utf-8")

    def counted(*arguments: object) -> object:
        here.trained += 1
        return train_job.train(*arguments)  # type: ignore[arg-type]

    patch.setattr(job, "make", few)
    patch.setattr(job, "train", counted)
    patch.setattr(job, "find", lambda name: recipes / ("classes.toml" if name == "demo-digits" else "pairs.toml"))


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Small:
    """Nothing is there yet."""
    here = Small(tmp_path)
    prepare(monkeypatch, tmp_path, here)
    return here


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    """The dates' demo, once."""
    folder = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        here = Small(folder)
        prepare(patch, folder, here)
        shown = here.run()
        assert (shown.new, here.trained) == (True, 1)
        yield shown


@pytest.fixture
def done(small: Small, first: Shown) -> Small:
    """The dates' demo is there already."""
    for name in "run", "run-data":
        shutil.copytree(first.trained.run.path.parent / name, small.folder / name)
    return small


def test_data_training_and_test(first: Shown) -> None:
    run = first.trained.run
    assert [answer.example for answer in first.answers] == read(first.files["test"]) == few("dates").test
    assert first.files["train"] == run.path.parent / "run-data" / "train.tsv"
    assert run.model.exists()
    assert "| right, in percent |" in run.card.read_text(encoding="utf-8")
    assert "| examples | 40 |" in run.card.read_text(encoding="utf-8")
    assert first.looked is not None
    assert tuple(first.looked.weights_TS.shape) == (len(first.looked.wrote), len(first.looked.read))


def test_again_shows_the_same_without_training(done: Small, first: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "make", None)  # the data is not made again either
    before = (done.out / "model.safetensors").read_bytes()
    again = done.run()
    assert (again.new, done.trained) == (False, 0)
    assert [answer.text for answer in again.answers] == [answer.text for answer in first.answers]
    assert again.trained.scores == first.trained.scores
    assert (done.out / "model.safetensors").read_bytes() == before


def test_a_run_that_was_stopped_goes_on(done: Small) -> None:
    (last,) = (done.out / "state").glob("step-*")
    state = json.loads((last / "state.json").read_text())
    state["place"]["ended"] = None
    (last / "state.json").write_text(json.dumps(state))
    assert finished(RunFolder(done.out), 5.0) is None


def test_more_time_goes_on(done: Small) -> None:
    assert finished(RunFolder(done.out), 5.0) is not None
    assert finished(RunFolder(done.out), 10.0) is None


def test_force_starts_anew_with_another_seed(done: Small, first: Shown) -> None:
    with pytest.raises(UserError, match="run: holds a run of seed 1, not 2; name another --out, or use --force"):
        done.run(seed=2)
    other = done.run(seed=2, force=True)
    assert (other.new, done.trained) == (True, 1)
    assert other.trained.recipe.training.seed == 2
    assert [answer.example for answer in other.answers] != [answer.example for answer in first.answers]


def test_a_folder_of_other_things_is_left_alone(small: Small) -> None:
    small.out.mkdir()
    (small.out / "letters.txt").write_text("dear")
    with pytest.raises(UserError, match=r"holds other things than a run \(letters\.txt\); choose another --out"):
        small.run()
    assert not (small.folder / "run-data").exists()


def test_where_the_data_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert job.data_folder(RunFolder(Path("runs/mine"))) == Path("runs/mine-data")
    assert job.data_folder(RunFolder(Path())) == tmp_path / "here-data"
    assert job.data_folder(RunFolder(Path(".."))) == tmp_path.with_name(f"{tmp_path.name}-data")
    assert job.default_out("dates", 1) == Path("runs/demo-dates")
    assert job.default_out("dates", 2) == Path("runs/demo-dates-2")


def test_lost_data(done: Small) -> None:
    (done.folder / "run-data" / "test.tsv").unlink()
    with pytest.raises(UserError, match=r"test\.tsv: cannot be read: No such file or directory; --force makes"):
        done.run()


@pytest.mark.parametrize("name", ["phonemes", "digits"])
def test_other_demos(small: Small, name: Name) -> None:
    shown = small.run(name)
    assert (shown.looked is None) == (name == "digits")
    assert {answer.text for answer in shown.answers} <= set("0123456789") or name != "digits"


def test_any_pronunciation_is_right(first: Shown) -> None:
    example = Example("either", "IY DH ER", "", ("AY DH ER",))
    target = first.trained.corpora.task.codecs.target
    said = ["IY DH ER", "AY DH ER", "IY DH"]
    assert [is_right(example, answer, target) for answer in said] == [True, True, False]
