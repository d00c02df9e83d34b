#!/usr/bin/env bash
# The fast tests with the oldest dependencies that pyproject.toml declares (scripts/oldest.txt).
#   scripts/check_oldest.sh [PYTHON 3.11] [pytest arguments]
set -euo pipefail
python=${1:-python3.11}
shift || true
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check \
  --constraint "$root/scripts/oldest.txt" --editable "$root[test]"
cd "$root"
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
# Old versions warn of what is new since: warnings are errors with the newest versions only.
"$work/venv/bin/python" -m pytest -m "not slow" -W default -n "${JOBS:-2}" --dist worksteal -p no:cacheprovider "$@"
