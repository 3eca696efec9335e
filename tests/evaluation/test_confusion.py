"""Which label is taken for which."""

from seqloom.evaluation.confusion import confusion


def test_what_was_wanted_and_said() -> None:
    found = confusion([["a"], ["b"], ["b"], ["c"]], [["a"], ["a"], ["a"], ["b"]])
    assert found.names == ("a", "b", "c")
    assert found.counts == {("a", "a"): 1, ("a", "b"): 2, ("b", "c"): 1}
    assert found.wrong() == [("a", "b", 2), ("b", "c", 1)]


def test_of_tags_all_count() -> None:
    assert confusion([["a", "b"]], [["a", "a"]]).counts == {("a", "a"): 1, ("a", "b"): 1}
