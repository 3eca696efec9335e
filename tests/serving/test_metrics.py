"""Prometheus' own parser reads them, and the numbers are right."""

from prometheus_client.parser import text_string_to_metric_families

from seqloom.serving.metrics import Metrics, family
from tests.jobs.asked_runs import Runs
from tests.serving.live import Live


def test_what_is_counted(runs: Runs) -> None:
    with Live([runs["pairs"], runs["tags"]]) as server:
        server.predict(["ab", "cd", "ef"])
        server.predict(["ab"], model="tags")
        server.post("/v1/predict", {"inputs": ["a"], "model": "none"})
        server.client.get("/no/such/path")
        server.client.get("/another")
        answer = server.client.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    found = {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for each in text_string_to_metric_families(answer.text)
        for sample in each.samples
    }
    assert found["seqloom_requests_total", "/v1/predict", "200"] == 2
    assert found["seqloom_requests_total", "/v1/predict", "404"] == 1
    assert found["seqloom_requests_total", "404", "other"] == 2  # paths that somebody made up are one
    assert found["seqloom_request_seconds_count", "/v1/predict"] == 3
    assert found["seqloom_request_seconds_bucket", "+Inf", "/v1/predict"] == 3
    assert found["seqloom_request_seconds_sum", "/v1/predict"] > 0
    assert found["seqloom_inputs_total", "pairs"] == 3
    assert found["seqloom_inputs_total", "tags"] == 1
    assert found["seqloom_tokens_total", "pairs"] >= 6
    assert found["seqloom_waiting", "pairs"] == found["seqloom_writing", "pairs"] == 0
    assert found["seqloom_loaded", "tags"] == 1


def test_times_fall_into_their_parts() -> None:
    metrics = Metrics()
    for seconds in (0.001, 0.005, 0.006, 100.0):
        metrics.add("/x", 200, seconds)
    lines = list(metrics._of_requests())
    assert 'seqloom_request_seconds_bucket{route="/x",le="0.005"} 2\n' in lines
    assert 'seqloom_request_seconds_bucket{route="/x",le="60.0"} 3\n' in lines
    assert 'seqloom_request_seconds_bucket{route="/x",le="+Inf"} 4\n' in lines


def test_names_of_all_kinds() -> None:
    text = family("a", "gauge", "b", [({"model": 'q"\\\n'}, 1.5)])
    (found,) = text_string_to_metric_families(text)
    assert found.samples[0].labels == {"model": 'q"\\\n'}
