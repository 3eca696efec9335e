"""The picture of a run: valid XML for any metrics, all curves in it, and nothing outside of it."""

import math
import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from seqloom.training.curves import WIDTH, curves_svg, thinned

SVG = "{http://www.w3.org/2000/svg}"
Rows = list[dict[str, float]]


def rows(steps: int, every: int = 10) -> Rows:
    found: Rows = []
    for step in range(1, steps + 1):
        row = {"step": step, "loss": 5 / step + step % 3, "rate": 1e-3 / step}
        if step % every == 0:
            row |= {"valid_loss": 4 / step + 1, "exact_match": 100 - 50 / step}
        found.append(row)
    return found


def drawn(metrics: Rows, **settings: object) -> ElementTree.Element:
    return ElementTree.fromstring(curves_svg(metrics, **settings))  # type: ignore[arg-type]


def texts(svg: ElementTree.Element) -> list[str]:
    return [element.text or "" for element in svg.iter(f"{SVG}text")]


def places(svg: ElementTree.Element) -> list[tuple[float, float]]:
    paths = " ".join(path.get("d", "") for path in svg.iter(f"{SVG}path") if "line" in path.get("class", ""))
    found = [(float(x), float(y)) for x, y in re.findall(r"[ML]([-\d.]+) ([-\d.]+)", paths)]
    return found + [(float(c.get("cx", "")), float(c.get("cy", ""))) for c in svg.iter(f"{SVG}circle")]


def test_all_is_there() -> None:
    svg = drawn(rows(200), title="runs/<a> & b", scores=["exact_match"])
    said = texts(svg)
    for words in ("runs/<a> & b", "loss", "exact match", "learning rate", "step", "the best"):
        assert words in said
    assert any(text.startswith("training ") for text in said)
    assert any(text.startswith("validation 1.02") for text in said)
    assert svg.findtext(f"{SVG}title") == "runs/<a> & b"


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 39, 40, 500, 20_000])
def test_any_length(steps: int) -> None:
    text = curves_svg(rows(steps), scores=["exact_match"])
    svg = ElementTree.fromstring(text)
    assert "nan" not in text.replace("nothing", "")
    height = float(svg.get("height", ""))
    assert [(x, y) for x, y in places(svg) if not (0 <= x <= WIDTH and 0 <= y <= height)] == []
    assert len(text) < 120_000
    assert ("nothing has been measured yet" in texts(svg)) == (steps == 0)


def test_the_best_is_marked() -> None:
    metrics: Rows = [{"step": s, "valid_loss": v, "up": u, "down": u} for s, v, u in [(1, 2, 5), (2, 1, 9), (3, 3, 7)]]
    said = texts(drawn(metrics, scores=["up", "down"], falling={"down"}))
    assert [text for text in said if text.startswith("best")] == [
        "best 1.000 at 2",
        "best 9.000 at 2",
        "best 5.000 at 1",
    ]


def test_what_is_no_number_is_a_gap() -> None:
    metrics: Rows = [{"step": s, "rate": math.nan if s == 3 else math.inf if s == 5 else s} for s in range(1, 8)]
    (path,) = [p.get("d", "") for p in drawn(metrics).iter(f"{SVG}path") if "line" in p.get("class", "")]
    assert path.count("M") == 3
    assert path.count("L") == 2
    assert texts(drawn([{"step": 1, "loss": math.nan}])) == ["nothing has been measured yet"]
    noisy = [{"step": s, "loss": math.nan if s % 10 == 0 else 1.0} for s in range(1, 100)]
    assert "nan" not in curves_svg(noisy)


def test_one_point_is_a_dot() -> None:
    assert len(list(drawn([{"step": 1, "loss": 2.0}]).iter(f"{SVG}circle"))) == 1


def test_rows_in_any_order_and_the_latest_of_a_step() -> None:
    metrics: Rows = [{"step": 3, "rate": 1.0}, {"step": 1, "rate": 9.0}, {"step": 3, "rate": 2.0}]
    assert curves_svg(metrics) == curves_svg([{"step": 1, "rate": 9.0}, {"step": 3, "rate": 2.0}])


def test_labels_keep_apart() -> None:
    svg = drawn([{"step": s, "loss": 1.0, "valid_loss": 1.0} for s in (1, 2)])
    at = sorted(float(t.get("y", "")) for t in svg.iter(f"{SVG}text") if "label" in t.get("class", ""))
    assert all(after - before >= 14 for before, after in pairwise(at))


def test_thinning_keeps_peaks_and_gaps() -> None:
    points = [(float(i), 0.0) for i in range(10_000)]
    points[4321] = (4321.0, 99.0)
    points[777] = (777.0, math.nan)
    kept = thinned(points)
    assert len(kept) < 1000
    assert (4321.0, 99.0) in kept
    assert any(math.isnan(y) for _, y in kept)
    assert kept[0] == points[0]
    assert kept[-1] == points[-1]
    assert [x for x, _ in kept] == sorted(x for x, _ in kept)
