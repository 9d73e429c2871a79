"""Limits: what they start with, and how others are put in force."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from ducklake_spark.limits import Limits, limits, lowered, set_limits


def test_every_limit_can_be_lowered_and_is_told_in_the_docstring():
    usual, tiny = Limits(), Limits.tiny()
    for field in fields(Limits):
        assert getattr(tiny, field.name) < getattr(usual, field.name), field.name
        assert f"        {field.name}: " in (Limits.__doc__ or ""), field.name


def test_others_are_in_force_until_the_block_ends():
    before = limits()
    with pytest.raises(RuntimeError), lowered(many_files=2, driver_rows=0):
        assert limits() == replace(before, many_files=2, driver_rows=0)
        with lowered(Limits.tiny()):
            assert limits() == Limits.tiny()
        assert limits().many_files == 2
        raise RuntimeError
    assert limits() == before


def test_limits_of_the_process_are_exchanged():
    before = set_limits(Limits.tiny())
    try:
        assert limits() == Limits.tiny()
    finally:
        assert set_limits(before) == Limits.tiny()
    assert limits() is before


@pytest.mark.parametrize("field", fields(Limits), ids=lambda field: field.name)
def test_a_limit_that_would_stop_the_work_is_refused(field):
    least = field.metadata["least"]
    assert getattr(Limits(**{field.name: least}), field.name) == least
    with pytest.raises(ValueError, match=f"limit {field.name} is {least - 1}"):
        Limits(**{field.name: least - 1})
