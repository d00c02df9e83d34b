"""The law of responses whatever the features are: a density, without the row itself, in any unit."""

from __future__ import annotations

import numpy as np
import pytest

from robula.selectors.trust.response_law import ResponseLaw


def test_it_is_the_density_of_the_responses():
    y = np.random.default_rng(1).normal(3.0, 2.0, 5000)
    at = np.array([3.0, 1.0, 6.0])
    expected = -0.5 * ((at - 3.0) / 2.0) ** 2 - np.log(2.0 * np.sqrt(2.0 * np.pi))
    np.testing.assert_allclose(ResponseLaw(y).log_density(at, own=False), expected, atol=0.15)


def test_units_do_not_matter():
    y = np.random.default_rng(2).gamma(3.0, size=300)
    law, other = ResponseLaw(y), ResponseLaw(100.0 * y + 7.0)
    np.testing.assert_allclose(
        law.log_density(y, own=True), other.log_density(100.0 * y + 7.0, own=True) + np.log(100.0), atol=1e-6
    )


def test_a_response_does_not_vouch_for_itself():
    y = np.append(np.random.default_rng(3).standard_normal(200), [6.0, 1e6])
    alone, far = ResponseLaw(y).log_density(y, own=True)[-2:]
    assert alone < -12.0
    assert far == -np.inf
    assert ResponseLaw(y).log_density(y[-2:-1], own=False)[0] == pytest.approx(np.log(1 / 202 / 0.32 / 2.5), abs=0.5)


def test_responses_that_hardly_vary_have_none():
    assert not ResponseLaw(np.append(np.zeros(90), np.arange(10.0))).known
    assert (ResponseLaw(np.zeros(5)).log_density(np.zeros(2), own=False) == -np.inf).all()
