"""Why the recommended method is not always twice as close as the best rival, attack by attack."""

from __future__ import annotations

import pandas as pd

from benchmarks.leaderboard import settings
from benchmarks.leaderboard.tables import CELL, best_rival

_REASONS = {
    "paper": "bad rows with small residuals in the middle of the features are ordinary rows",
    "leverage_cluster": "at d = 200 the group is not far out in x, and the mixture removes most of it too",
    "stealth_shift": "information: weights that know the bad rows' law would be no better",
    "heavy_tails": "most bad rows overlap the good ones, as for stealth shift, and heavy-tailed likelihoods are made for this",
    "common_gradient": "at d = 200 every method is near the clean posterior; at d = 5 few bad rows are among many good ones",
    "two_clusters": "at d = 200 a tenth of the rows at four standard deviations is below the noise of the covariance",
    "subtractive": "nothing was added that could be removed; no method here finds hidden rows",
    "sentinel_response": "both are within sampling noise of the clean posterior (at d = 20 one clean data set lost rows by chance)",
    "zero_response": "at d = 20 one of three clean data sets lost good rows by chance",
    "adaptive": "the attacker knows theta; below a fifth of the rows the bad ones do not stand out",
}


def not_halved(table: pd.DataFrame) -> list[list[str]]:
    """Lines (attack, cells not halved of all, median ratio of W2, reason); ``table`` has a line a cell and method."""
    ours = table[(table["method"] == "robula") & (table["epsilon"] > 0)]
    pairs = ours.merge(best_rival(table), on=CELL)
    lines = []
    for attack in settings.REGRESSION_ATTACKS:
        mine = pairs[pairs["attack"] == attack]
        missed = mine[mine["net"] > 0.5 * mine["rival_net"]]
        if len(missed):
            ratio = (missed["net"] / missed["rival_net"]).median()
            lines.append(
                [attack.replace("_", " "), f"{len(missed)} of {len(mine)}", f"{ratio:.2f}", _REASONS.get(attack, "")]
            )
    return lines
