"""Text from outside stays text wherever the page shows it: in cells, labels of rows and attributes of pictures."""

from __future__ import annotations

import numpy as np
import pandas as pd

import robula
from robula.result.posterior import Posterior
from tests.reporting.test_report_page import parse

NASTY = '"><script>alert(1)</script>'


def test_labels_of_rows_and_pictures_are_text(tmp_path):
    rng = np.random.default_rng(0)
    posterior = Posterior(
        draws=rng.normal(size=(4, 100, 2)),
        row_weights=np.array([0.0, 0.2, 1.0, 1.0, 1.0, 1.0]),
        parameter_names=(f"first {NASTY}", "second"),
        stats={},
        settings={},
        citations=(),
    )
    data = pd.DataFrame(
        {f"column {NASTY}": [90.0, 1.0, 2.0, 1.5, 1.2, 1.1]}, index=[f"row {i} {NASTY}" for i in range(6)]
    )
    page = robula.report(posterior, tmp_path / "page.html", data=data, title=f"title {NASTY}")
    found = parse(page)
    assert found.seen["script"] == 1  # ours
    for place in ("title", "first", "column", "row 0", "row 1"):
        assert any(f"{place} {NASTY}" in text for text in found.text), place
