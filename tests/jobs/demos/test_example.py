from seqloom.jobs.demos.example import Example, without_clashes


def test_a_source_with_two_answers_goes_from_all_splits() -> None:
    first, second = Example("1/2/2000", "2000-02-01", "en-GB"), Example("1/2/2000", "2000-01-02", "en-US")
    kept, twice = Example("a", "b", ""), Example("a", "b", "other")
    assert without_clashes([first, kept], [twice], [second]) == [[kept], [twice], []]
