"""Array types shared by every stage."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.intp]
#: Anything NumPy can turn into a numeric array: lists, arrays, DataFrames, Series.
ArrayInput = Any
