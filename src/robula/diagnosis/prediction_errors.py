"""How far a response is from what the model foretells: the one definition for pages, files and lists of rows."""

from __future__ import annotations

import numpy as np

from robula._types import FloatArray
from robula.models.law import ModelWithLaw
from robula.models.model import Model


def prediction_errors(model: Model, theta: FloatArray) -> FloatArray | None:
    """Return the normal scores (n,) of the responses at theta (d,); None for labels, and where a model has no law.

    A whole number has a score for each end of its place in the law; the one nearer to 0 counts. Of rows that are
    vectors it is the score of their distance. A label is right or wrong, and neither high nor low.
    """
    if not isinstance(model, ModelWithLaw) or model.response_kind == "label":
        return None
    lower, upper = model.scores(theta)
    errors = np.where(np.abs(lower) < np.abs(upper), lower, upper)
    # What is not there is as foretold.
    return np.where(model.hidden, 0.0, errors)
