"""What was published: each result with its own cost and a name that tells it apart."""

from seqloom.jobs.recipes.published import Published, Result

ONE = Result(data="en-de", metric="bleu", score=25.2)
EIGHT = Result(data="en-de", metric="bleu", score=26.4, flops=8e18, note="an ensemble of 8")
SAME = Result(data="en-de", metric="perplexity", score=4.0, note="as above")
OTHER = Result(data="en-fr", metric="bleu", score=40.5, note="a wider model")
TARGET = Published(flops=1e18, results=(ONE, EIGHT, SAME, OTHER))


def test_the_targets_flops_are_of_the_first_data() -> None:
    assert [TARGET.spent(result) for result in TARGET.results] == [1e18, 8e18, 1e18, None]


def test_without_any() -> None:
    assert Published(results=(ONE,)).spent(ONE) is None


def test_notes_tell_results_of_the_same_data_and_metric_apart() -> None:
    assert [TARGET.named(result) for result in TARGET.results] == ["en-de", "en-de, an ensemble of 8", "en-de", "en-fr"]
