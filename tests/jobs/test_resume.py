"""A run that is killed, at any moment, goes on to the same bits as one that never stopped."""

import json
import os
import random
import signal
import time
from pathlib import Path

import pytest

from tests.jobs.run import child, write_pairs, write_recipe

# dropout, a moving average and accumulation are on; checkpoints come as often as they can
EVERYTHING = """
accumulate = 2
ema = { decay = 0.9 }
save_every = 1e-6
"""
AVERAGING = """
average = 2
save_every = 1e-6
"""
FILES = ("model.safetensors", "metrics.jsonl", "recipe.toml")


def _train(out: str, workers: int = 1) -> tuple[str, ...]:
    return ("train", "recipe.toml", "--data", "pairs.tsv", "--out", out, "--set", f"data.workers={workers}")


def _whole(folder: Path, out: str, workers: int = 1) -> None:
    process = child(folder, *_train(out, workers))
    process.join()
    assert process.exitcode == 0, (folder / "output.txt").read_text()


def _state(run: Path) -> dict[str, bytes]:
    """All that must be equal; what the machine needed for it is not."""
    files = {name: (run / name).read_bytes() for name in FILES}
    (last,) = (run / "state").glob("step-*")
    files |= {file.name: file.read_bytes() for file in sorted(last.glob("*.safetensors"))}
    files |= {f"looks/{file.name}": file.read_bytes() for file in sorted((run / "looks").iterdir())}
    assert "looks/look-000004-step-00000040.safetensors" in files
    numbers = json.loads((last / "state.json").read_text())
    for need in ("seconds", "validation_seconds", "validating", "memory"):
        numbers["place"].pop(need)
    return files | {"state.json": json.dumps(numbers).encode()}


def _same(one: dict[str, bytes], other: dict[str, bytes]) -> None:
    assert one.keys() == other.keys()
    assert [name for name in one if one[name] != other[name]] == []


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))
    write_pairs(tmp_path / "pairs.tsv")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_killed_at_random_moments(place: Path, workers: int) -> None:
    write_recipe(place / "recipe.toml", EVERYTHING)
    _whole(place, "straight", workers)
    draw, kills, metrics = random.Random(workers), 0, place / "killed" / "metrics.jsonl"
    for _ in range(10):
        process = child(place, *_train("killed", workers))
        # once it is under way, at any moment of the next steps
        before = metrics.stat().st_mtime_ns if metrics.exists() else 0
        while process.is_alive() and (not metrics.exists() or metrics.stat().st_mtime_ns == before):
            time.sleep(0.001)
        process.join(draw.uniform(0, 0.15))
        kills += process.exitcode is None
        process.kill()
        process.join()
    assert kills >= 5
    _whole(place, "killed", workers)
    _same(_state(place / "straight"), _state(place / "killed"))


@pytest.mark.slow
@pytest.mark.parametrize("extra", [EVERYTHING, AVERAGING], ids=["ema", "average"])
def test_killed_while_it_writes(place: Path, extra: str) -> None:
    """Before one of its writes to the disk: in the middle of a checkpoint, of a model, between the two."""
    write_recipe(place / "recipe.toml", extra)
    _whole(place, "straight")
    kills = 0
    for kill_at in (1, 2, 3, 5, 8, 13, 14, 15, 16, 17, 18, 19):
        process = child(place, *_train("killed"), kill_at=kill_at)
        process.join()
        kills += process.exitcode == -signal.SIGKILL
    assert kills >= 10
    _whole(place, "killed")
    _same(_state(place / "straight"), _state(place / "killed"))


def test_ctrl_c_leaves_a_checkpoint(place: Path) -> None:
    write_recipe(place / "recipe.toml", "save_every = 100\n")
    long = (*_train("stopped"), "--set", "training.steps=100000", "--set", "training.validate_every=100000")
    process = child(place, *long)
    metrics = place / "stopped" / "metrics.jsonl"
    while not metrics.exists() or len(metrics.read_bytes().splitlines()) < 20:
        time.sleep(0.02)
        assert process.is_alive(), (place / "output.txt").read_text()
    assert process.pid is not None
    os.kill(process.pid, signal.SIGINT)
    process.join()
    assert process.exitcode == 130
    assert "the same command goes on" in (place / "output.txt").read_text()
    (last,) = (place / "stopped" / "state").glob("step-*")
    assert int(last.name.removeprefix("step-")) >= 19
