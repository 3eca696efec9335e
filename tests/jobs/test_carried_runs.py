"""Runs that carry their state on from window to window (`task.carry`)."""

import math
import shutil
from pathlib import Path

import pytest
import torch

import seqloom
from seqloom.jobs.answering.scoring import Given, score
from seqloom.jobs.compare import compare
from seqloom.jobs.comparing import work
from seqloom.jobs.comparing.command import Compare
from seqloom.jobs.comparing.compared import Compared
from seqloom.jobs.comparing.worker import done
from seqloom.jobs.evaluate import Evaluate, evaluate
from seqloom.settings import FailedError, UserError
from seqloom.store import RunFolder, read_tensors
from seqloom.tasks import Batch, Goals
from seqloom.tasks.language import LanguageTask

RECIPE = """
[task]
kind = "language"
context = 6
carry = true
[text]
source = { kind = "characters" }
[model]
family = "decoder-only"
width = 12
depth = 1
mixer = { kind = "recurrence", cell = "lstm" }
feed_forward = { kind = "none" }
norm = { kind = "none" }
residual = { kind = "none" }
dropout = 0.1
output = { kind = "tokens" }
[training]
steps = 24
batch = 24
validate_every = 8
schedule = { kind = "constant" }
"""
TEXT = "the film was good\nthe book was dull\na good book is better than a dull film\n" * 9


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text(TEXT)
    Path("valid.txt").write_text(TEXT[:200])
    Path("r.toml").write_text(RECIPE)
    return tmp_path


def _train(out: str, steps: int) -> None:
    seqloom.train(
        "r.toml", data="text.txt", valid="valid.txt", out=out, changes=[f"training.steps={steps}"], view="none"
    )


@pytest.mark.parametrize("stop", [7, 28, 29])
def test_a_run_that_goes_on_has_the_state_that_it_had(place: Path, stop: int) -> None:
    """In the midst of the text, and where it begins again."""
    _train("whole", 36)
    _train("parts", stop)
    (checkpoint,) = Path("parts/state").glob("step-*")
    assert read_tensors(checkpoint / "carried.safetensors")
    _train("parts", 36)
    whole, parts = (read_tensors(Path(run) / "model.safetensors") for run in ("whole", "parts"))
    assert all(tensor.equal(parts[name]) for name, tensor in whole.items())
    assert _epochs("whole") > 1


def _epochs(run: str) -> float:
    checkpoint = RunFolder(Path(run)).checkpoints.newest()
    assert checkpoint is not None
    return float(checkpoint.numbers["place"]["epochs"])


def test_it_is_evaluated_as_one_text(place: Path) -> None:
    """The last of some letters is as likely as it is given all of them, and not as in a window that begins anew."""
    _train("run", 24)
    model = seqloom.load("run")
    Path("test.txt").write_text("\n".join(TEXT.splitlines()[:3]) + "\n")
    assert isinstance(model.task, LanguageTask)
    ids = model.task.encoder([TEXT.splitlines()[:3]])["target"].values_N.tolist()
    assert len(ids) > 60
    given = Given(model.task.encoder.before[-1:], ids)
    (whole,) = score(model.networks, [given], model.task.vocabulary, model.device)
    assert _perplexity() == pytest.approx(math.exp(-whole.log_prob / len(ids)), rel=1e-4)
    assert _perplexity("evaluation.context=6") != pytest.approx(_perplexity(), rel=1e-3)


def _perplexity(*changes: str) -> float:
    return seqloom.evaluate("run", data="test.txt", metrics=["perplexity"], changes=changes).scores["run"]["perplexity"]


@pytest.fixture
def both(place: Path) -> list[str]:
    """Notes of an evaluation of one that carries its state on, of one that does not, and of both together."""
    _train("run", 8)
    Path("r.toml").write_text(RECIPE.replace("carry = true", "carry = false"))
    _train("anew", 8)
    shutil.copy("valid.txt", "test.txt")
    return ["run", "anew"]


def _evaluated(runs: list[str], *changes: str) -> tuple[dict[str, float], list[str]]:
    heard = list[str]()
    asked = Evaluate(tuple(runs), ("test.txt",), metrics=("perplexity",), changes=changes, ensemble=("all",))
    report, _ = evaluate(asked, heard.append)
    return {one.system: one.score for one in report.measured}, [line for line in heard if "in unlike ways" in line]


def test_who_reads_the_text_otherwise_is_told(both: list[str]) -> None:
    scores, notes = _evaluated(both)
    assert notes == [
        "the text is read in unlike ways, and who sees more before a token foretells it better: run as one text, "
        "anew in windows of 6, ensemble in windows of 6; all in the same: --set evaluation.context=6 "
        "--set evaluation.stride=3"
    ]
    same, notes = _evaluated(both, "evaluation.context=6")
    assert notes == []
    assert same["run"] != scores["run"]
    # those that write together read as the one that carries nothing
    assert (same["anew"], same["ensemble"]) == (scores["anew"], scores["ensemble"])


def test_a_comparison_tells_so_too(both: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "work_apart", done)
    quick = ("evaluation.trials=100", "evaluation.resamples=100")
    wanted = ("evaluation.context=9", "evaluation.stride=3")

    def compared(*changes: str) -> Compared:
        return compare(Compare(tuple(both), test=("test.txt",), changes=(*quick, *changes)), view="none")

    scores = compared().scores
    assert "who sees more before a token foretells it better: run as one text, anew in windows of 6" in repr(compared())
    same = compared(*wanted)
    assert "in unlike ways" not in repr(same)
    assert same.scores["run"] != scores["run"]
    assert same.scores["anew"]["perplexity"] == _evaluated(both, *wanted)[0]["anew"]
    with pytest.raises(UserError, match=r"^evaluation.stride=7: more than the 6 tokens that are read together$"):
        compared("evaluation.stride=7")


def test_memory_that_runs_out(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: LanguageTask, model: object, batch: Batch, goals: Goals) -> torch.Tensor:
        raise torch.OutOfMemoryError("no")

    monkeypatch.setattr(LanguageTask, "loss", full)
    with pytest.raises(FailedError, match=r"step 1: out of memory; a text that is read side by side \(task.carry\)"):
        _train("run", 24)


def test_convolutions_within_a_bottleneck_may_too(place: Path) -> None:
    mixer = '{ kind = "bottleneck-convolution" }'
    Path("r.toml").write_text(RECIPE.replace('{ kind = "recurrence", cell = "lstm" }', mixer))
    _train("run", 2)
    (checkpoint,) = Path("run/state").glob("step-*")
    assert read_tensors(checkpoint / "carried.safetensors")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            '{ kind = "recurrence", cell = "lstm" }',
            '{ kind = "attention", heads = 2 }',
            "r.toml:5: .*attention would remember the whole text; carry is for recurrence, convolution and",
        ),
        ("dropout = 0.1", 'positions = { kind = "sinusoidal" }', "r.toml:5: .*counted from the text's beginning"),
        ("context = 6", 'context = 6\nlines = "documents"', "r.toml:6: .*each line begins anew here"),
        ("steps = 24", "steps = 24\nr_drop = 1.0", "r.toml:20: .*reads each window twice"),
        (
            "[training]",
            '[[data.corpora]]\nfiles = ["text.txt"]\nweight = 2.0\n[training]',
            "r.toml:18: .*has no weight; leave it out",
        ),
    ],
)
def test_what_cannot_be_carried(place: Path, old: str, new: str, message: str) -> None:
    Path("r.toml").write_text(RECIPE.replace(old, new))
    with pytest.raises(UserError, match=message):
        _train("run", 24)
