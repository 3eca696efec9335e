"""Every line is JSON that any program can read."""

import json
import math

from seqloom.jobs.lines.json_line import json_line


def test_what_is_no_number_is_null() -> None:
    assert json_line({"a": [1.5, math.nan, (math.inf,)], "b": {"c": -math.inf, "d": "NaN"}}) == (
        '{"a": [1.5, null, [null]], "b": {"c": null, "d": "NaN"}}\n'
    )


def test_the_rest_is_as_it_was() -> None:
    record = {"text": "ä\n", "ended": False, "n": [1, None, 0.1]}
    assert json.loads(json_line(record)) == record
