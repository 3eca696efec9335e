from collections import Counter

import pytest

from seqloom.jobs.demos import Demo
from seqloom.jobs.demos.digits import TEST_SHARE, VALID_SHARE, make_digits


@pytest.fixture(scope="module")
def demo() -> Demo:
    return make_digits()


def test_every_image_once(demo: Demo) -> None:
    assert demo.shape == "classes"
    assert len(demo.train) + len(demo.valid) + len(demo.test) == 1_797
    assert len({example.source for example in (*demo.train, *demo.valid, *demo.test)}) == 1_797


def test_pixels(demo: Demo) -> None:
    for example in demo.train:
        pixels = [int(pixel) for pixel in example.source.split(" ")]
        assert len(pixels) == 64
        assert set(pixels) <= set(range(17))


def test_each_digit_has_the_same_share_of_each_split(demo: Demo) -> None:
    everything = Counter(example.target for example in (*demo.train, *demo.valid, *demo.test))
    assert set(everything) == set("0123456789")
    for part, share in ((demo.valid, VALID_SHARE), (demo.test, TEST_SHARE)):
        counts = Counter(example.target for example in part)
        for label, count in everything.items():
            assert abs(counts[label] - count * share) <= 1
        assert [example.slice for example in part] == [example.target for example in part]
