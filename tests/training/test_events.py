"""Event files, read back by TensorBoard itself."""

import math
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from seqloom.training.events import EventWriter, crc32c, record

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from tensorboard.backend.event_processing.event_accumulator import TENSORS, EventAccumulator
    from tensorboard.compat.proto.event_pb2 import Event, SessionLog
    from tensorboard.compat.proto.summary_pb2 import Summary

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


class Clock:
    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        self.now += 0.25
        return self.now


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with caplog.at_level("CRITICAL", "tensorboard"):
        yield


def read(folder: Path) -> EventAccumulator:
    accumulator = EventAccumulator(str(folder), size_guidance={TENSORS: 0})
    accumulator.Reload()
    return accumulator


def points(accumulator: EventAccumulator, tag: str) -> list[tuple[int, float]]:
    if tag in accumulator.Tags()["scalars"]:
        return [(event.step, event.value) for event in accumulator.Scalars(tag)]
    return [(event.step, event.tensor_proto.float_val[0]) for event in accumulator.Tensors(tag)]


def test_numbers(tmp_path: Path) -> None:
    with EventWriter(tmp_path / "new" / "events", clock=Clock()) as writer:
        writer.scalars(1, {"loss/train": 1.5, "rate": 0.25})
        writer.scalars(300_000_000_000, {"loss/train": -2.0})
    found = read(tmp_path / "new" / "events")
    assert points(found, "loss/train") == [(1, 1.5), (300_000_000_000, -2.0)]
    assert points(found, "rate") == [(1, 0.25)]


def test_odd_numbers(tmp_path: Path) -> None:
    with EventWriter(tmp_path) as writer:
        writer.scalars(1, {"a": float("nan"), "b": 1e300, "c": -1e300, "d": 3})
    found = read(tmp_path)
    assert math.isnan(points(found, "a")[0][1])
    assert points(found, "b") == [(1, math.inf)]
    assert points(found, "c") == [(1, -math.inf)]
    assert points(found, "d") == [(1, 3.0)]


def test_a_resumed_run_drops_what_it_makes_again(tmp_path: Path) -> None:
    clock = Clock()
    with EventWriter(tmp_path, clock=clock) as first:
        for step in range(1, 8):
            first.scalars(step, {"loss": float(step)})
    with EventWriter(tmp_path, after=4, clock=clock) as second:
        second.scalars(5, {"loss": 50.0})
        second.scalars(6, {"loss": 60.0})
    assert first.path.name < second.path.name  # within one second, too
    assert points(read(tmp_path), "loss") == [(1, 1.0), (2, 2.0), (3, 3.0), (4, 4.0), (5, 50.0), (6, 60.0)]


def test_a_file_that_was_cut_off_does_no_harm(tmp_path: Path) -> None:
    clock = Clock()
    with EventWriter(tmp_path, clock=clock) as first:
        first.scalars(1, {"loss": 1.0})
        first.scalars(2, {"loss": 2.0})
    first.path.write_bytes(first.path.read_bytes()[:-5])
    with EventWriter(tmp_path, after=1, clock=clock) as second:
        second.scalars(2, {"loss": 20.0})
    assert points(read(tmp_path), "loss") == [(1, 1.0), (2, 20.0)]


def test_what_is_flushed_can_be_read(tmp_path: Path) -> None:
    writer = EventWriter(tmp_path)
    writer.scalars(1, {"loss": 1.0})
    writer.flush()
    assert points(read(tmp_path), "loss") == [(1, 1.0)]
    writer.close()


def test_the_bytes_are_protobufs_own(tmp_path: Path) -> None:
    with EventWriter(tmp_path, after=3, clock=lambda: 1.5) as writer:
        writer.scalars(7, {"a": 0.5})
    events = [
        Event(wall_time=1.5, step=0, file_version="brain.Event:2"),
        Event(wall_time=1.5, step=4, session_log=SessionLog(status=SessionLog.START)),
        Event(wall_time=1.5, step=7, summary=Summary(value=[Summary.Value(tag="a", simple_value=0.5)])),
    ]
    data = writer.path.read_bytes()
    for event in events:
        length = int.from_bytes(data[:8], "little")
        assert Event.FromString(data[12 : 12 + length]) == event
        assert data[: length + 16] == record(data[12 : 12 + length])
        data = data[length + 16 :]
    assert data == b""


@pytest.mark.parametrize(
    ("data", "checksum"), [(b"123456789", 0xE3069283), (bytes(32), 0x8A9136AA), (b"\xff" * 32, 0x62A8AB43)]
)
def test_checksums_of_rfc_3720(data: bytes, checksum: int) -> None:
    assert crc32c(data) == checksum
