"""The benchmark's own machinery: work that is the same for all, a model that copies, energy, the table."""

import io
import json
import time
from pathlib import Path

import pytest
import torch

import seqloom
from race import turns, worker
from race.copying import copying_run, language_model, translator
from race.energy import Rapl, meter
from race.rows import CPU, GPU, Row, rows
from race.systems import SYSTEMS
from race.table import figures, flops_per_token, lines
from race.turns import Runner
from race.work import LANGUAGE, SMALL, Size, Told, TrainPairs, Write, pair_batches, sorted_batches
from race.work import lines as texts_of

TINY = Size(64, 2, 4, 200)


def test_the_work_follows_from_its_seed() -> None:
    job = TrainPairs(TINY, 0.0, 256)
    first, again = pair_batches(job, 3), pair_batches(job, 3)
    assert first == again
    assert all(200 < sum(len(target) for _, target in batch) <= 256 for batch in first)
    spread = [max(len(target) for _, target in batch) - min(len(target) for _, target in batch) for batch in first]
    assert min(spread) <= 3, "batches of like lengths"


def test_batches_hold_every_sentence_once() -> None:
    parts = sorted_batches(texts_of(Write(TINY, 30, 1, 8)), 8)
    assert sorted(at for part in parts for at in part) == list(range(30))


@pytest.mark.parametrize("beam", [1, 5])
def test_the_model_that_is_set_by_hand_copies(tmp_path: Path, beam: int) -> None:
    size = Size(256, 1, 4, 300)
    model = seqloom.load(copying_run(size, tmp_path), device="cpu")
    texts = texts_of(Write(size, 20, 1, 8))
    assert [answer.text for answer in model.predict(texts, beam=beam)] == texts


def test_transformers_begins_with_the_same_loss() -> None:
    from race.systems.hugging_face import ready as theirs
    from race.systems.own import ready as ours

    job = TrainPairs(TINY, 0.0, 128)
    told = [make(job, Path(), "cpu", *ways)(0) for make, ways in ((ours, ("own", "full")), (theirs, ()))]
    assert told[0].tokens == told[1].tokens
    assert told[0].loss == pytest.approx(told[1].loss, rel=1e-5)


def test_torch_nn_begins_with_the_same_loss() -> None:
    from race.systems.own import ready as ours
    from race.systems.torch_nn import ready as theirs
    from race.work import TrainLanguage

    for job in TrainPairs(TINY, 0.0, 128), TrainLanguage(TINY, 0.0, rows=2, context=16):
        told = [make(job, Path(), "cpu", *ways)(0) for make, ways in ((ours, ("own", "full")), (theirs, ()))]
        assert told[0].loss == pytest.approx(told[1].loss, rel=1e-5), job


def test_rapl_counts_packages_once_and_over_the_end_of_their_counters(tmp_path: Path) -> None:
    for name, energy in ("intel-rapl:0", 9_000_000), ("intel-rapl:0:0", 5), ("intel-rapl:1", 1_000_000):
        (tmp_path / name).mkdir()
        (tmp_path / name / "energy_uj").write_text(f"{energy}\n")
        (tmp_path / name / "max_energy_range_uj").write_text("10000000\n")
    joules = Rapl(tmp_path)
    assert joules
    assert joules() == 0
    (tmp_path / "intel-rapl:0" / "energy_uj").write_text("2000000\n")  # 1 J to the end, 2 J more
    (tmp_path / "intel-rapl:1" / "energy_uj").write_text("1500000\n")
    assert joules() == pytest.approx(3.5)


def test_energy_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    assert not Rapl(tmp_path / "none")
    found, words = meter("cpu")
    assert (found is None) == ("cannot be read" in words)


def _runner(name: str, seconds: float, texts: list[str] | None = None, loss: float | None = None) -> Runner:
    return Runner(name, "", 1, [seconds] * 3, [], [100] * 3, 2**20, loss, texts, [1e9] * 3)


def test_ratios_say_how_many_times_as_fast_seqloom_is() -> None:
    row = Row("greedy", Write(SMALL, 4, 1, 4), ("seqloom", "transformers", "JoeyNMT", "CTranslate2"), 3)
    runners = [
        _runner("seqloom", 1.0, ["a", "b"]),
        _runner("transformers", 3.0, ["a", "c"]),
        Runner("JoeyNMT", "not installed: pip install 'joeynmt'"),
        _runner("CTranslate2", 0.5, ["a", "b"]),
    ]
    records = figures(row, runners)
    assert [one.get("seqloom_is") for one in records] == [1.0, 3.0, None, 0.5]
    said = "\n".join(lines(row, records))
    assert "1 of 2 texts equal" in said
    assert "– not installed: pip install 'joeynmt'" in said
    assert said.endswith("seqloom is 0.50× the fastest peer (CTranslate2)")


def test_the_same_weights_are_known_by_their_loss() -> None:
    row = Row("train", TrainPairs(SMALL, 0.0, 512), ("seqloom",), 3)
    runners = [_runner(name, 1.0, loss=loss) for name, loss in (("seqloom", 9.0), ("transformers", 9.001), ("x", 8.0))]
    said = [one["same_work"] for one in figures(row, runners)]
    assert said == ["", "same weights, same loss", "its own weights; same batches"]


def test_flops_of_writing_are_a_third_of_training() -> None:
    train, write = (Row("", job, (), 1) for job in (TrainPairs(SMALL, 0.0, 512), Write(SMALL, 8, 1, 8)))
    assert flops_per_token(train) == pytest.approx(3 * flops_per_token(write))


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_every_row_names_systems_that_exist(device: str) -> None:
    found = [*rows(device, quick=False), *rows(device, quick=True)]
    assert len({row.name for row in (CPU if device == "cpu" else GPU)}) == len(CPU if device == "cpu" else GPU)
    assert all(name in SYSTEMS for row in found for name in row.systems)
    assert all(row.systems[0] == "seqloom" for row in found)


def test_the_models_of_the_rows_can_be_built() -> None:
    from race.copying import built

    assert sum(p.numel() for p in built(language_model(LANGUAGE, 256), 70).parameters()) == 10_772_736
    with torch.device("meta"):
        assert sum(p.numel() for p in built(translator(SMALL), 8192).parameters()) > 7_000_000


@pytest.mark.parametrize("how", [[], ["processor"]])
def test_seconds_of_the_clock_or_of_the_processor(how: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def sleep(number: int) -> Told:
        time.sleep(0.3)
        return Told(number)

    monkeypatch.setattr(worker, "_turn", lambda *_: sleep)
    monkeypatch.setattr(worker, "_end_with_parent", lambda: None)
    monkeypatch.setattr("sys.argv", ["worker", "row", "system", "cpu", "folder", *how])
    monkeypatch.setattr("sys.stdin", io.StringIO("7\n"))
    monkeypatch.setattr("sys.stdout", out := io.StringIO())
    worker.main()
    told = json.loads(out.getvalue().splitlines()[-1])
    assert told["tokens"] == 7
    assert (told["seconds"] < 0.2) == bool(how)


def test_each_system_has_the_threads_that_suit_it() -> None:
    one = Runner("CTranslate2", threads=1, seconds=[1.0, 1.0], tokens=[10, 10])
    two = Runner("CTranslate2", threads=2, seconds=[2.0, 2.0], tokens=[10, 10])
    failed = Runner("CTranslate2", why="ended with 1", threads=4, seconds=[0.1], tokens=[10])
    assert turns._best([two, failed, one]) is one
    assert turns._best([failed]) is failed
