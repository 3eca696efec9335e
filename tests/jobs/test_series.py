"""Series from files to answers: trained, asked, evaluated, and what is wrong said with its place."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import seqloom
from seqloom.cli import app
from seqloom.settings import UserError

RECIPE = """
[task]
kind = "classify"
reads = "series"
[model]
family = "encoder-only"
width = 16
depth = 1
mixer = { kind = "convolution", kernel = 3, activation = "relu" }
feed_forward = { kind = "none" }
input = { kind = "vectors" }
output = { kind = "classes", pool = ["mean", "max"] }
[training]
steps = 40
batch = 200
optimiser = { kind = "adamw", rate = 0.02 }
best = "accuracy"
"""


def _series(kind: str, draw: np.random.Generator) -> list[list[float]]:
    """Rising or falling, of any length, the second channel large and noisy."""
    steps = int(draw.integers(4, 12))
    slope = np.linspace(0, 1, steps) * (1 if kind == "up" else -1)
    return np.stack([slope, 1000 + 50 * draw.normal(size=steps)], 1).round(4).tolist()


def _examples(count: int, seed: int = 1) -> list[tuple[list[list[float]], str]]:
    draw = np.random.default_rng(seed)
    return [(_series(kind, draw), kind) for number in range(count) for kind in [("up", "down")[number % 2]]]


def _jsonl(path: Path, examples: list[tuple[list[list[float]], str]]) -> Path:
    path.write_text("".join(json.dumps({"values": x, "label": kind}) + "\n" for x, kind in examples))
    return path


def _csv(path: Path, examples: list[tuple[list[list[float]], str]]) -> Path:
    rows = ["trial,time,slope,noise,label"]
    for number, (x, kind) in enumerate(examples):
        rows += [f"{number},{time},{slope},{noise},{kind}" for time, (slope, noise) in enumerate(x)]
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("series")


@pytest.fixture(scope="module")
def run(folder: Path) -> Path:
    (folder / "r.toml").write_text(RECIPE)
    data, valid = _jsonl(folder / "a.jsonl", _examples(60)), _jsonl(folder / "v.jsonl", _examples(20, 2))
    trained = seqloom.train(folder / "r.toml", data=data, valid=valid, out=folder / "run", view="none")
    assert trained.scores["accuracy"] == 100
    return folder / "run"


def _invoke(*words: str | Path) -> Any:
    return CliRunner().invoke(app, list(map(str, words)))


def test_the_scales_of_training_are_kept_in_the_run(run: Path) -> None:
    kept = json.loads((run / "vocabulary" / "readings.json").read_text())
    training = np.concatenate([x for x, _ in _examples(60)])
    np.testing.assert_allclose(kept["mean_C"], training.mean(0), rtol=1e-6)
    np.testing.assert_allclose(kept["deviation_C"], training.std(0), rtol=1e-6)


@pytest.mark.parametrize("write", [_jsonl, _csv])
def test_every_format_is_answered_alike(run: Path, tmp_path: Path, write: Callable[..., Path]) -> None:
    file = write(tmp_path / f"x.{'jsonl' if write is _jsonl else 'csv'}", _examples(12, 3))
    answered = _invoke("predict", run, file)
    assert answered.exit_code == 0, answered.stderr
    assert answered.stdout.split() == [kind for _, kind in _examples(12, 3)]


@pytest.mark.parametrize("form", ["csv", "tsv"])
def test_a_table_of_any_name_is_read_as_what_is_said(run: Path, tmp_path: Path, form: str) -> None:
    file = _csv(tmp_path / "x.txt", _examples(4, 3))
    if form == "tsv":
        file.write_text(file.read_text().replace(",", "\t"))
    answered = _invoke("predict", run, file, "--input", form)
    assert answered.exit_code == 0, answered.stderr
    assert answered.stdout.split() == ["up", "down", "up", "down"]


def test_probabilities_of_the_best(run: Path, tmp_path: Path) -> None:
    file = _jsonl(tmp_path / "x.jsonl", _examples(3, 3))
    lines = _invoke("predict", run, file, "--n-best", "2", "--format", "jsonl").stdout.splitlines()
    assert len(lines) == 3
    best = json.loads(lines[0])["n_best"]
    assert [one["text"] for one in best] == ["up", "down"]
    assert sum(one["probability"] for one in best) == pytest.approx(1)


def test_labels_are_not_needed(run: Path, tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text("".join(json.dumps({"values": x}) + "\n" for x, _ in _examples(4, 3)))
    assert _invoke("predict", run, file).stdout.split() == ["up", "down", "up", "down"]


def test_a_bad_series_is_named_and_can_be_left_out(run: Path, tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    good = json.dumps({"values": _examples(1)[0][0]})
    file.write_text("\n".join([good, '{"values": [[1, 2, 3]]}', '{"values": [[1, "x"]]}', good]) + "\n")
    stopped = _invoke("predict", run, file)
    assert isinstance(stopped.exception, UserError)
    assert "x.jsonl:2: 3 readings at each step, but 2 are expected" in str(stopped.exception)
    skipped = _invoke("predict", run, file, "--skip-bad")
    assert skipped.stdout == "up\n\n\nup\n"
    assert "x.jsonl:3: step 1 is 'x', no number" in skipped.stderr


def test_evaluate(run: Path, tmp_path: Path) -> None:
    file = _csv(tmp_path / "x.csv", _examples(20, 3))
    lines = _invoke("evaluate", run, "--data", file, "--format", "jsonl").stdout.splitlines()
    scores = {record["metric"]: record for record in map(json.loads, lines) if record["kind"] == "score"}
    assert scores["accuracy"]["score"] == 100
    assert scores["f1-macro"]["low"] == 100
    confused = {(each["wanted"], each["said"]): each["count"] for each in map(json.loads, lines) if "said" in each}
    assert confused == {("up", "up"): 10, ("down", "down"): 10}
    page = _invoke("evaluate", run, "--data", file).stdout
    assert "wanted (rows) and said (columns)" in page


def test_from_python(run: Path) -> None:
    model = seqloom.load(run)
    rising, falling = (np.array(_examples(2, 4)[number][0]) for number in range(2))
    assert str(model.predict(rising)) == "up"
    assert [str(answer) for answer in model.predict([rising, falling.tolist()])] == ["up", "down"]
    with pytest.raises(UserError, match="text 1: 1 reading at each step, but 2 are expected"):
        model.predict([np.zeros(4)])
    with pytest.raises(TypeError, match="an array of readings"):
        model.predict("up")


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (
            [([[1.0, 2.0]], "up"), ([[1.0]], "down"), ([[1.0, 2.0]], "up")],
            r"b\.jsonl:2: 1 reading at each step, but 2",
        ),
        (
            [([[1.0, None]], "up"), ([[1.0, 2.0]], "down"), ([[1.0, 2.0]], "up")],
            r"b\.jsonl:1: step 1 has no reading of channel 2; .*readings\.missing=mean",
        ),
        (
            [([[1.0, 2.0]], "up"), ([[1.0, 3.0]], "up"), ([[2.0, 2.0]], "up")],
            r"b\.jsonl: all examples .* one class, 'up'",
        ),
        ([([[1.0, 2.0]], "up"), ([[1.0, 3.0]], ""), ([[2.0, 2.0]], "up")], r"b\.jsonl:2: the label is empty"),
    ],
)
def test_data_that_cannot_be_learnt_from(folder: Path, run: Path, tmp_path: Path, rows: Any, expected: str) -> None:
    data = _jsonl(tmp_path / "b.jsonl", rows)
    with pytest.raises(UserError, match=expected):
        seqloom.train(folder / "r.toml", data=data, valid=folder / "v.jsonl", out=tmp_path / "run", view="none")


def test_files_of_another_form_than_training_s(folder: Path, tmp_path: Path) -> None:
    other = _jsonl(tmp_path / "b.jsonl", [([[1.0]], "up")])
    with pytest.raises(UserError, match=r"b\.jsonl:1: 1 reading at each step, but 2 are expected"):
        seqloom.train(folder / "r.toml", data=folder / "a.jsonl", valid=other, out=tmp_path / "run", view="none")


def test_check(folder: Path, tmp_path: Path) -> None:
    rows: Any = [*_examples(20), ([[1.0, None]], "up"), ([[1.0]], "up"), _examples(1)[0]]
    checked = _invoke("check", _jsonl(tmp_path / "b.jsonl", rows))
    assert checked.exit_code == 1
    assert "training: 23 examples, 2 different labels" in checked.stdout
    for line in (
        "FAULT: training: values: another number of readings at each step than the first has: 1",
        "b.jsonl:22",
        "FAULT: training: values: readings are missing: 1",
        "warning: training: the same example again: 1",
    ):
        assert line in checked.stdout
    filled = _invoke("check", _jsonl(tmp_path / "b.jsonl", rows), "--set", "readings.missing=mean")
    assert "note: training: values: readings are missing: 1" in filled.stdout


STEPS = "series,time,x,y,label\n" + "".join(
    f"s{one},{step},{one}.{step},{step},{'up' if one % 2 else 'down'}\n" for one in range(20) for step in range(6)
)
ROWS = "a,b,c,d,label\n" + "".join(f"{one},{one % 2},1.5,-2,{'up' if one % 2 else 'down'}\n" for one in range(20))


@pytest.mark.parametrize("text", [STEPS, ROWS, STEPS.replace(",", "\t"), ROWS.replace(",", ";")])
def test_a_table_of_readings_is_recognised(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))
    file = tmp_path / ("a.tsv" if "\t" in text else "a.csv")
    file.write_text(text)
    checked = _invoke("check", str(file))
    assert checked.exit_code == 0, checked.output
    assert "the data looks like classify (series)" in checked.stdout
    assert "training: 20 examples, 2 different labels" in checked.stdout


def test_a_missing_reading_is_told_with_its_own_line(tmp_path: Path) -> None:
    lines = STEPS.splitlines()
    assert lines[15].startswith("s2,2,")
    lines[15] = "s2,2,,2,down"
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(UserError, match=r"a\.csv:16: step 3 has no reading of channel x"):
        seqloom.train(data=tmp_path / "a.csv", out=tmp_path / "run", view="none")


def test_without_a_recipe_the_data_tells_the_task(folder: Path, run: Path, tmp_path: Path) -> None:
    trained = seqloom.train(
        data=folder / "a.jsonl", out=tmp_path / "run", view="none", changes=["training.steps=2", "training.threads=1"]
    )
    assert trained.recipe.task.kind == "classify"
    assert trained.recipe.model.input.kind == "vectors"
