"""What holds for every look, whatever it is of."""

import base64
import json
import math
from array import array
from typing import Any

import pytest

from seqloom.jobs.look import Look, entry, flow, to_json


def numbers(matrix: dict[str, Any]) -> list[float]:
    found = array("f", base64.b64decode(matrix["data"]))
    assert len(found) == math.prod(matrix["shape"])
    return list(found)


def check_documents(look: Look) -> None:
    """All of them can be written as JSON and fit each other; rows of attention sum to 1."""
    plain = [to_json(one) for one in (entry(look.model, "it"), flow(look.model), look.answer(), look.trace())]
    json.dumps(plain, allow_nan=False)
    notes = [*plain[2]["notes"], *plain[3]["notes"]]
    assert not [note for note in notes if note.endswith(".")], "the page ends each with a full stop"
    boxes = plain[1]["boxes"]
    assert set(plain[3]["boxes"]) == {box["id"] for box in boxes}
    for box in boxes:
        found = to_json(look.box(box["id"]))
        json.dumps(found, allow_nan=False)
        assert found["equation"]["symbols"]
        assert found["sentence"]
        made = plain[3]["boxes"][box["id"]]["shapes"]
        shapes = [value["matrix"]["shape"] for value in found["values"]]
        assert shapes[len(shapes) - len(made) :] == made, "behind what a small box learnt"
        for value in found["values"]:
            shape = value["matrix"]["shape"]
            assert value["heads"] == (len(shape) == 3)
            for axis, labels in (-2, value["rows"]), (-1, value["columns"]):
                assert labels is None or len(labels) == shape[axis]
            numbers(value["matrix"])
    for layer in to_json(look.attention())["layers"]:
        heads, rows, columns = layer["weights"]["shape"]
        assert (len(layer["heads"]), len(layer["rows"]), len(layer["columns"])) == (heads, rows, columns)
        weights = numbers(layer["weights"])
        for row in range(heads * rows):
            assert sum(weights[row * columns : (row + 1) * columns]) == pytest.approx(1, abs=1e-5)
