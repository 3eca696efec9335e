"""Windows are cut out of series where they are asked for."""

import numpy as np

from seqloom.data.order import Order, Weighted
from seqloom.data.series.windows import CHUNK, Frame, Scaled, Windows, nearest

FRAME = Frame(4, 2)


def series(steps: int, targets: int = 2, begin: float = 0.0) -> Scaled:
    values_TC = begin + np.arange(steps * targets, dtype=np.float32).reshape(steps, targets)
    return Scaled(values_TC, -values_TC[:, :1], values_TC[:, :1] * 10, np.arange(2, steps + 2))


def windows(*each: Scaled) -> Windows:
    starts = [FRAME.starts(one, 0, len(one)) for one in each]
    of = [np.full(len(own), number) for number, own in enumerate(starts)]
    return Windows(each, np.concatenate(of), np.concatenate(starts), FRAME)


def test_a_window_holds_what_was_and_what_came() -> None:
    made = windows(series(8))
    assert made.start_N.tolist() == [4, 5, 6]
    examples = made.read([0])[0]
    one = series(8)
    np.testing.assert_array_equal(
        examples.columns["source"][1].reshape(4, 3), np.concatenate((one.targets_TC[1:5], one.past_TP[1:5]), 1)
    )
    np.testing.assert_array_equal(examples.columns["target"][1].reshape(2, 2), one.targets_TC[5:7])
    np.testing.assert_array_equal(examples.columns["known"][1], one.known_TK[1:7, 0])
    assert examples.line_B.tolist() == [6, 7, 8]


def test_a_window_is_one_of_a_shorter_look_back_by_its_nearest_steps() -> None:
    one, short = series(9), Frame(1, 2)
    starts_N = FRAME.starts(one, 0, 9)
    wanted = Windows([one], np.zeros_like(starts_N), starts_N, short).read([0])[0]
    whole = Windows([one], np.zeros_like(starts_N), starts_N, FRAME).read([0])[0]
    cut = nearest(whole, FRAME, short)
    for name, column in wanted.columns.items():
        np.testing.assert_array_equal(cut.columns[name].values_N, column.values_N)
        assert [len(cut.columns[name][row]) for row in range(len(cut))] == [len(column[row]) for row in range(len(cut))]
    assert nearest(whole, FRAME, FRAME) is whole


def test_horizons_lie_within_their_part_and_look_back_into_the_one_before() -> None:
    one = series(20)
    assert FRAME.starts(one, 0, 10).tolist() == [4, 5, 6, 7, 8]
    assert FRAME.starts(one, 10, 14).tolist() == [10, 11, 12]  # 4 − 2 + 1: none is dropped
    assert FRAME.starts(one, 10, 20, every=3).tolist() == [10, 13, 16]


def test_the_ett_protocol_has_the_papers_windows() -> None:
    """12, 4 and 4 months of hours; look-back 512, horizon 96: 8033, 2785 and 2785 windows."""
    one, frame = series(17_420, 1), Frame(512, 96)
    counts = [len(frame.starts(one, *part)) for part in ((0, 8640), (8640, 11_520), (11_520, 14_400))]
    assert counts == [8033, 2785, 2785]


def test_a_horizon_without_any_value_is_left_out() -> None:
    one = series(9)
    one.targets_TC[5:7] = np.nan
    assert FRAME.starts(one, 0, 9).tolist() == [4, 6, 7]


def test_all_windows_are_met_once_in_an_epoch() -> None:
    made = windows(series(150), series(90, begin=1000.0))
    assert len(made.rows) == -(-len(made) // CHUNK)
    order = Order([Weighted(made.shuffled(0))], budget=50, seed=1, marks=0)
    seen = [
        row.tobytes() for batch in order.epoch(0) for row in (batch.columns["target"][at] for at in range(len(batch)))
    ]
    assert len(seen) == len(set(seen)) == len(made) == 145 + 85
    assert sum(len(batch) for batch in order.epoch(1)) == len(made)
    assert made.totals.tokens["source"] == len(made) * 4 * 3
