"""Every law for every mixer and every model, in float32 and float64."""

import random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.laws import laws
from tests.laws.cases import MIXERS, MODELS, Case
from tests.laws.subject import Form

DTYPES = [torch.float32, torch.float64]
LENGTHS = st.lists(st.integers(1, 7), min_size=1, max_size=4)
FORMS = st.builds(Form, st.sampled_from(["packed", "framed", "right", "left", "both"]), st.integers(0, 3))

every = pytest.mark.parametrize("case", MIXERS + MODELS, ids=repr)
both_precisions = pytest.mark.parametrize("dtype", DTYPES, ids=["float32", "float64"])


@every
@both_precisions
@given(data=st.data(), lengths=LENGTHS, form=FORMS, seed=st.integers(0, 99))
def test_future(case: Case, dtype: torch.dtype, data: st.DataObject, lengths: list[int], form: Form, seed: int) -> None:
    subject = case.make(seed, dtype)
    rows = subject.rows(lengths, _memories(data, lengths))
    laws.future_changes_nothing(subject, rows, form, [data.draw(st.integers(0, n)) for n in lengths])


@every
@both_precisions
@given(data=st.data(), lengths=LENGTHS, form=FORMS, seed=st.integers(0, 99))
def test_padding(
    case: Case, dtype: torch.dtype, data: st.DataObject, lengths: list[int], form: Form, seed: int
) -> None:
    subject = case.make(seed, dtype)
    laws.padding_changes_nothing(subject, subject.rows(lengths, _memories(data, lengths)), form)


@every
@both_precisions
@given(data=st.data(), lengths=LENGTHS, seed=st.integers(0, 99), static=st.booleans())
def test_parts(
    case: Case, dtype: torch.dtype, data: st.DataObject, lengths: list[int], seed: int, static: bool
) -> None:
    subject = case.make(seed, dtype)
    forms = data.draw(st.lists(FORMS, min_size=1, max_size=4))
    cuts = [[0, *sorted(data.draw(st.integers(0, n)) for _ in forms[1:]), n] for n in lengths]
    capacity = max(lengths) + data.draw(st.integers(0, 2)) if static else None
    laws.parts_are_the_whole(subject, subject.rows(lengths, _memories(data, lengths)), cuts, forms, capacity)


@every
@both_precisions
@given(data=st.data(), lengths=LENGTHS, seed=st.integers(0, 99))
def test_reordering(case: Case, dtype: torch.dtype, data: st.DataObject, lengths: list[int], seed: int) -> None:
    subject = case.make(seed, dtype)
    rows = subject.rows(lengths, _memories(data, lengths))
    order = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, max_size=5))
    laws.reordering_commutes(subject, rows, subject.rows([2] * len(rows), [1] * len(rows)), order)


@every
@both_precisions
@given(data=st.data(), sizes=st.lists(st.integers(1, 2), min_size=2, max_size=3), seed=st.integers(0, 99))
def test_joining(case: Case, dtype: torch.dtype, data: st.DataObject, sizes: list[int], seed: int) -> None:
    subject = case.make(seed, dtype)
    begun = [[data.draw(st.sampled_from([0, 0, 3, 5])) for _ in range(size)] for size in sizes]
    lengths = [steps + 2 for part in begun for steps in part]
    capacity = data.draw(st.sampled_from([None, 7]))
    laws.rows_join_later(subject, subject.rows(lengths, _memories(data, lengths)), begun, capacity)


@every
@both_precisions
@given(data=st.data(), count=st.integers(1, 3), times=st.integers(1, 3), seed=st.integers(0, 99))
def test_forking(case: Case, dtype: torch.dtype, data: st.DataObject, count: int, times: int, seed: int) -> None:
    subject = case.make(seed, dtype)
    lengths = [data.draw(st.integers(1, 4)) for _ in range(count)]
    laws.hypotheses_fork(subject, subject.rows(lengths, _memories(data, lengths)), times, random.Random(seed))


@every
@both_precisions
@given(data=st.data(), lengths=LENGTHS, form=FORMS, seed=st.integers(0, 99))
def test_paths(case: Case, dtype: torch.dtype, data: st.DataObject, lengths: list[int], form: Form, seed: int) -> None:
    subject = case.make(seed, dtype)
    laws.paths_agree(subject, subject.rows(lengths, _memories(data, lengths)), form)


@pytest.mark.parametrize("case", [case for case in MIXERS if case.set_like], ids=repr)
@both_precisions
@given(order=st.permutations(range(6)), seed=st.integers(0, 99))
def test_order(case: Case, dtype: torch.dtype, order: list[int], seed: int) -> None:
    subject = case.make(seed, dtype)
    laws.order_is_unseen(subject, subject.rows([6], [4])[0], torch.tensor(order))


@every
@both_precisions
def test_save_and_load(case: Case, dtype: torch.dtype) -> None:
    subject = case.make(1, dtype)
    laws.loaded_is_the_same(subject, case.make(2, dtype), subject.rows([3, 5], [2, 4]))


@every
def test_gradients(case: Case) -> None:
    subject = case.make(5, torch.float64)
    laws.gradients_are_right(subject, subject.rows([4, 2], [3, 1]))


def _memories(data: st.DataObject, lengths: list[int]) -> list[int]:
    return [data.draw(st.integers(1, 5)) for _ in lengths]
