"""Where the boxes of every recipe's model stand: beside and above one another, never upon."""

from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import torch

from seqloom.inspect.flow import draw
from seqloom.jobs.looking.documents import FlowDocument, to_json
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.models.build import build_model
from seqloom.models.sizes import Sizes
from seqloom.settings import load
from tests.studio.browser import Studio

FOLDER = Path(__file__).parents[2] / "recipes"
RECIPES = [file for file in sorted(FOLDER.glob("*.toml")) if not (FOLDER / f"{file.stem}-small.toml").exists()]
LAID_OUT = """async ([flow, unfolded]) => {
    const { folded, openable } = await import("/studio/pictures/flow_folds.js");
    const { layout, NARROW, WIDE } = await import("/studio/pictures/flow_layout.js");
    const open = unfolded ? openable(flow) : new Set();
    return [NARROW, WIDE].map((sizes) => {
        const { boxes, edges, width, height } = layout(folded(flow, { open, all: unfolded }), sizes, open);
        return {
            width, height, boxes: boxes.map(({ box, x, y, w, h }) => ({ id: box.id, x, y, w, h })),
            edges: edges.map(({ from, to, points }) => ({ from, to, points })),
        };
    });
}"""


@cache
def document(file: Path) -> Any:
    with torch.device("meta"):
        drawn = draw(build_model(load(file, Recipe).model, Sizes(30, 30, steps=96)))
    return to_json(FlowDocument(drawn.boxes, drawn.edges, drawn.groups))


def faults(flow: Any, laid: Any) -> list[str]:
    found = []
    boxes = {one["id"]: one for one in laid["boxes"]}
    for one, other in combinations(boxes.values(), 2):
        apart = abs(one["x"] - other["x"]) >= (one["w"] + other["w"]) / 2 or (
            one["y"] >= other["y"] + other["h"] or other["y"] >= one["y"] + one["h"]
        )
        if not apart:
            found.append(f"{one['id']} lies upon {other['id']}")
    sides = {id: group["side"] for group in flow["groups"] for id in group["boxes"]}
    for edge in laid["edges"]:
        start, end = boxes[edge["from"]], boxes[edge["to"]]
        if sides[edge["from"]] == sides[edge["to"]] and start["y"] <= end["y"] and start["x"] == end["x"]:
            found.append(f"{edge['to']} reads {edge['from']}, and is not above it")
        x, y = edge["points"][-1]
        if not (abs(x - end["x"]) <= end["w"] / 2 + 1 and end["y"] - 1 <= y <= end["y"] + end["h"] + 1):
            found.append(f"the arrow from {edge['from']} does not end at {edge['to']}")
    for x, y in (point for edge in laid["edges"] for point in edge["points"]):
        if not (0 <= x <= laid["width"] and 0 <= y <= laid["height"]):
            found.append(f"an arrow leaves the picture at {x}, {y}")
    return found


@pytest.mark.slow
@pytest.mark.parametrize("unfolded", [False, True], ids=["folded", "unfolded"])
def test_every_recipe_has_its_drawing(studio: Studio, unfolded: bool) -> None:
    page = studio.open("flow", model="pairs", input="abcd")
    wrong = []
    for file in RECIPES:
        flow = document(file)
        for laid in page.evaluate(LAID_OUT, [flow, unfolded]):
            assert len(laid["boxes"]) == len(flow["boxes"]) or not unfolded
            wrong += [f"{file.stem}: {fault}" for fault in faults(flow, laid)]
    assert not wrong, "\n".join(wrong)
