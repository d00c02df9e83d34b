"""Every script of examples/ runs on its real data, at tiny settings, finds what it says, and draws its picture."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import matplotlib as mpl
import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))
AIR_QUALITY = ROOT.parent / "shared" / "realdata" / "air_quality_uci.csv"

#: What a script returns must be so.
EXPECTED = {
    "belgian_phone_calls": lambda weights: max(weights[year] for year in range(1964, 1970)) < 0.1 < weights[1955],
    "diabetes_missing_code": lambda moved: moved[0] < 2.0 < 20.0 < moved[1],
    "enzyme_speed": lambda curve: 190 < curve["top"] < 230,
    "giant_stars": lambda slopes: slopes[0] > 1.0 > 0.0 > slopes[1],
    "mixed_up_species": lambda distances: distances[0] < 0.1 < 0.4 < distances[1],
    "tumour_labels": lambda share: share > 0.6,
    "air_quality": lambda found: found["weight of good rows kept"] > 0.95,
}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_example(script, tmp_path):
    mpl.use("agg")
    spec = importlib.util.spec_from_file_location(script.stem, script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    settings = {"out": tmp_path / "picture.png", "draws": 50}
    if script.stem == "enzyme_speed":
        pytest.importorskip("jax")
    if script.stem == "air_quality":
        if not AIR_QUALITY.exists():
            pytest.skip(f"needs {AIR_QUALITY}, which is not ours to give")
        settings |= {"file": AIR_QUALITY, "rows": 500}
    assert EXPECTED[script.stem](module.main(**settings))
    assert settings["out"].stat().st_size > 10_000


def test_every_example_has_its_picture_on_the_site():
    pages = "\n".join((ROOT / "docs" / name).read_text() for name in ("examples.md", "tutorials/dirty_file.md"))
    shown = set(re.findall(r"images/examples/(\w+)\.png", pages))
    assert shown == {script.stem for script in SCRIPTS} == set(EXPECTED)
    assert all((ROOT / "docs" / "images" / "examples" / f"{name}.png").exists() for name in shown)
