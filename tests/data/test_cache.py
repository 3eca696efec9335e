"""Readings go through the cache as ids do."""

from pathlib import Path

import numpy as np

from seqloom.data.cache import Cache, CacheWriter, Examples
from seqloom.data.ragged import Ragged, Steps


def test_readings_there_and_back(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    series = [draw.normal(size=(steps, 3)).astype(np.float32) for steps in (4, 1, 7)]
    columns = {"source": Ragged.series(series, 3), "target": Ragged.rows([[0], [2], [1]])}
    with CacheWriter(tmp_path / "x.arrow", {"source": Steps(3), "target": np.int32}, {}) as writer:
        writer.add(Examples(columns, np.zeros(3, np.int64), np.arange(1, 4)))
    cache = Cache(tmp_path / "x.arrow")
    (read,) = cache.read([0])
    assert read.columns["source"].values_N.dtype == np.float32
    for row, x in enumerate(series):
        assert (read.columns["source"][row] == x).all()
    assert cache.totals.tokens == {"source": 12, "target": 3}
    assert cache.totals.longest["source"] == 7


def test_rows_of_readings_are_taken_cut_and_joined() -> None:
    rows = Ragged.series([np.full((2, 2), 1.0), np.full((3, 2), 2.0)], 2)
    taken = rows.take(np.array([1, 0, 1]))
    assert taken.lengths_B.tolist() == [3, 2, 3]
    assert taken[1].tolist() == [[1, 1], [1, 1]]
    assert rows.cut(1).values_N.tolist() == [[1, 1], [2, 2]]
    assert Ragged.join([rows, taken]).values_N.shape == (13, 2)
    assert rows.framed(after=[0]).lengths_B.tolist() == [3, 4]
