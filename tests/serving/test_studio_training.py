"""Training as it goes, in the studio: its curves and looks, also of a run that has no model yet."""

import base64
import shutil
from pathlib import Path

import numpy as np
import torch

from seqloom.store import RunFolder
from tests.jobs.asked_runs import Runs
from tests.serving.live import Live

API = "/studio/api"


def test_training_can_be_seen(runs: Runs) -> None:
    with Live([runs["pairs"]], lecture=True) as studio:
        document = studio.client.get(f"{API}/training", params={"model": "pairs"}).json()
        assert document["running"] is False
        assert len(document["metrics"]["loss"]) == 150
        (look,) = document["looks"]
        weights = look["weights"]
        numbers = np.frombuffer(base64.b64decode(weights["data"]), "<f4").reshape(weights["shape"])
        (file,) = RunFolder(runs["pairs"]).looks.files()
        assert torch.equal(torch.from_numpy(numbers.copy()), file.read())
        assert studio.client.get(f"{API}/training", params={"model": "lecture"}).status_code == 404


def test_a_run_without_a_model_yet(tmp_path: Path, runs: Runs) -> None:
    """Its training can be seen; whoever asks it is told to wait, until it has a model."""
    run = RunFolder(tmp_path / "young")
    run.create()
    with run.locked():
        run.add_metrics({"step": 1, "loss": 3.0})
        with Live([run.path], "serving.watch=0.05") as live:
            assert any("has no model before its first validation" in line for line in live.log)
            (entry,) = live.client.get(f"{API}/models").json()["models"]
            assert (entry["name"], entry["kind"], entry["training"]) == ("young", "", True)
            found = live.client.get(f"{API}/training").json()
            assert found["running"] is True
            assert found["metrics"] == {"loss": [[1, 3.0]]}
            answer = live.post(f"{API}/answer", {"input": "ab"})
            assert answer.status_code == 503
            assert "is still training, and has no model before its first validation" in answer.text
            assert "retry-after" in answer.headers
            for name in ("recipe.toml", "model.safetensors"):
                shutil.copy(runs["pairs"] / name, run.path / name)
            shutil.copytree(runs["pairs"] / "vocabulary", run.vocabulary)
            assert live.post(f"{API}/answer", {"input": "ab"}).json()["text"]
            assert live.client.get(f"{API}/models").json()["models"][0]["kind"] == "pairs"
