"""Readings go through the cache as ids do."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

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


def test_no_pandas_is_needed_to_keep_numbers_and_to_read_them(tmp_path: Path) -> None:
    """pyarrow imports it by itself, wherever it is installed, and that takes longer than to read a file."""
    script = """
import sys
import types

class Refused(types.ModuleType):
    def __getattr__(self, name):
        raise AssertionError(f"pandas.{name} was asked for")

sys.modules["pandas"] = Refused("pandas")
import subprocess
import sys
from pathlib import Path
import numpy as np
import pyarrow as pa
import pytest
from seqloom.data.cache import Cache, CacheWriter, Examples
from seqloom.data.ragged import Ragged, Steps

columns = {"source": Ragged.series([np.ones((4, 3), np.float32)], 3), "target": Ragged.rows([[5, 7]])}
with CacheWriter(Path("x.arrow"), {"source": Steps(3), "target": np.int32}, {}) as writer:
    writer.add(Examples(columns, np.zeros(1, np.int64), np.arange(1, 2)))
(read,) = Cache(Path("x.arrow")).read([0])
assert read.columns["target"][0].tolist() == [5, 7] and read.line_B.tolist() == [1]
assert read.columns["source"][0].tolist() == [[1.0, 1.0, 1.0]] * 4
"""
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True)


def test_numbers_of_another_kind_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    columns = {"target": Ragged.of(np.array([1, 2**40]), np.array([2]))}
    with (
        pytest.raises(pa.ArrowInvalid),
        CacheWriter(tmp_path / "x.arrow", {"target": np.int32}, {}) as writer,
    ):
        writer.add(Examples(columns, np.zeros(1, np.int64), np.arange(1, 2)))
