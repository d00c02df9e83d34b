"""What scikit-learn's ``random_state`` means to robula."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from robula.exceptions import InputError


def seed_of_random_state(random_state: Any) -> int:
    """Return the seed a scikit-learn ``random_state`` stands for."""
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        if random_state < 0:
            raise InputError(f"random_state={random_state} must be at least 0.")
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))
