from __future__ import annotations

import os

# Most of what a JAX model takes in a test is its compilation; without optimisation that takes two thirds of the time.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")

import numpy as np
import pytest
from hypothesis import settings

# The same examples on every run: a red build must be reproducible. Statistical tests fix their seeds for the same
# reason.
# Where 40 examples pass, 60 more have not failed yet and take a minute; scripts/fuzz.py looks further.
settings.register_profile("robula", deadline=None, derandomize=True, print_blob=True, max_examples=40)
settings.load_profile("robula")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(42)
