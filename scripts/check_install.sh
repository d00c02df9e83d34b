#!/usr/bin/env bash
# A clean wheel, installed without extras in a fresh environment, must fit and predict.
#   scripts/check_install.sh [PYTHON]
set -euo pipefail
python=${1:-python3}
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$work/wheel" "$root"
"$python" -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check "$work"/wheel/robula-*.whl
# Away from the source tree: only what the wheel holds can be imported.
cd "$work"
"$work/venv/bin/python" - <<'CSV'
import csv
import random

random.seed(0)
with open("rows.csv", "w", newline="") as file:
    out = csv.writer(file)
    out.writerow(["x", "site", "y"])
    for row in range(200):
        x = random.gauss(0, 1)
        out.writerow([x, "ab"[row % 2], -999 if row < 10 else 1 + 2 * x + random.gauss(0, 1)])
CSV
"$work/venv/bin/robula" fit rows.csv --target y --out run --draws 200
"$work/venv/bin/robula" predict run rows.csv --out predicted.csv
"$work/venv/bin/python" - <<'CHECK'
import csv
import sys

import robula

with open("predicted.csv") as file:
    predicted = list(csv.DictReader(file))
assert len(predicted) == 200, len(predicted)
slope = dict(zip(robula.load("run/posterior.npz").parameter_names, robula.load("run/posterior.npz").mean))["x"]
assert abs(slope - 2.0) < 0.5, slope
print(f"robula {robula.__version__} fits and predicts on Python {sys.version.split()[0]}")
CHECK
