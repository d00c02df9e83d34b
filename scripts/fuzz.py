"""Fuzz the API, the command line and files: nothing but documented errors may come out.

python scripts/fuzz.py [--api 2000] [--cli 700] [--files 1000] [--seed 0]

prints what was tried and every surprise, and exits 1 if there was one.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from typer.testing import CliRunner

import robula
from robula.cli.main import app
from robula.exceptions import RobulaError
from robula.workflow.run_folder import read_run

SHORT = dict(draws=5, burn_in=3, chains=2, progress=False)
JUNK: list[Any] = [
    None,
    "",
    "x",
    b"x",
    0,
    -1,
    1e300,
    np.nan,
    np.inf,
    [],
    {},
    object(),
    10**400,
    1j,
    [[1], [2, 3]],
    "=1+1",
]


SOUND = robula.simulate.linear_regression(n_clean=40, dim=2, contamination=0.1, seed=1).model


@lru_cache
def sound_run() -> robula.Posterior:
    """A run with nothing wrong."""
    return robula.sample(SOUND, contamination=0.1, draws=50, burn_in=20, chains=2, progress=False)


def any_matrix(rng: np.random.Generator) -> Any:
    """A matrix that is mostly sound, or anything else."""
    if rng.uniform() < 0.2:
        return JUNK[rng.integers(len(JUNK))]
    return any_table(rng, int(rng.integers(0, 30)))


def any_table(rng: np.random.Generator, rows: int) -> np.ndarray:
    """So many rows of numbers, some of them spoiled."""
    values = rng.standard_normal((rows, rng.integers(0, 4)))
    for _ in range(rng.integers(0, 3)):
        if values.size:
            spoiled = [np.nan, np.inf, 0.0, 1e300, -999.0, 1e-320][rng.integers(6)]
            values.flat[rng.integers(values.size)] = spoiled
    return values


def api_call(rng: np.random.Generator) -> Callable[[], Any]:
    """One call of a public function with arguments that are sound, odd or absurd."""
    X = any_matrix(rng)
    n = len(X) if isinstance(X, np.ndarray) else 5
    y = JUNK[rng.integers(len(JUNK))] if rng.uniform() < 0.15 else rng.integers(0, 2, n)
    level = JUNK[rng.integers(len(JUNK))] if rng.uniform() < 0.15 else float(rng.uniform(0, 0.49))
    prior = robula.NormalPrior(0.0, float(rng.exponential()) + 1e-9) if rng.uniform() < 0.9 else None
    junk = JUNK[rng.integers(len(JUNK))]
    made: dict[str, Callable[[], Any]] = {
        "mean": lambda: robula.MeanModel(X, prior=prior),
        "linear": lambda: robula.LinearModel(X, y, noise_scale=1.0, prior=prior),
        "unknown": lambda: robula.LinearModel(X, y, noise_scale="estimate", prior=prior),
        "logistic": lambda: robula.LogisticModel(X, y, prior=prior),
        "poisson": lambda: robula.PoissonModel(X, y, prior=prior, intercept=True),
        "large": lambda: robula.LargeModel(robula.LinearModel, X, y, noise_scale=1.0, prior=prior),
    }
    make = made[list(made)[rng.integers(len(made))]]
    calls: list[Callable[[], Any]] = [
        lambda: robula.sample(make(), contamination=level, **SHORT),
        lambda: robula.sample(make(), contamination=level, **{**SHORT, "draws": JUNK[rng.integers(len(JUNK))]}),
        lambda: robula.trust(make(), level),
        lambda: robula.robust_mean(X, level),
        lambda: robula.restarts(make(), any_matrix(rng), contamination=level),
        lambda: robula.contamination_path(make(), levels=[level]),
        lambda: robula.influence(make(), sound_run(), junk),
        lambda: robula.influence(SOUND, sound_run(), junk),
        lambda: robula.diagnose(sound_run(), junk, odd=junk),
        lambda: robula.odd_rows(sound_run(), X, response=junk),
        lambda: robula.odd_rows(sound_run(), any_table(rng, SOUND.n_rows)),
        lambda: robula.flag(sound_run(), level),
        lambda: robula.report(sound_run(), "no folder/page.html", model=make()),
        lambda: robula.load(JUNK[rng.integers(len(JUNK))]),
        lambda: robula.resume(JUNK[rng.integers(len(JUNK))], make()),
    ]
    return calls[rng.integers(len(calls))]


def cli_call(rng: np.random.Generator, folder: Path) -> list[str]:
    """One command line with a file that is sound or spoiled."""
    rows = [
        f"{a:.3f},{b:.3f},{'uv'[int(c)]}"
        for a, b, c in zip(*rng.standard_normal((2, 25)), rng.integers(0, 2, 25), strict=True)
    ]
    text = "y,x,c\n" + "\n".join(rows) + "\n"
    for _ in range(rng.integers(0, 4)):
        place = int(rng.integers(len(text)))
        text = (
            text[:place]
            + ["", ",", "\n", '"', "=cmd()", "NaN", "é", "\0", "1e999", ";"][rng.integers(10)]
            + text[place + 1 :]
        )
    path = folder / "data.csv"
    path.write_text(text)
    words = ["fit", str(path), "--out", str(folder / "run"), "--draws", "5", "--burn-in", "3", "--no-sensitivity"]
    options = {
        "--target": ["y", "x", "c", "z", ""],
        "--model": ["linear", "logistic", "poisson", "mean", "none"],
        "--contamination": ["0.1", "estimate", "0.5", "-1", "x"],
        "--features": ["x", "x,c", "y", ""],
        "--exclude": ["c", "x"],
        "--chains": ["1", "2", "100000000", "0"],
        "--seed": ["0", "-1", "1e3"],
        "--noise-scale": ["1", "0", "nan"],
        "--selector": ["trust", "recursive", "nothing"],
        "--checkpoint": [str(folder / "run.ckpt"), str(folder / "no" / "run.ckpt")],
    }
    for name in rng.permutation(list(options))[: rng.integers(1, 5)]:
        words += [str(name), options[name][rng.integers(len(options[name]))]]
    if rng.uniform() < 0.2:
        return ["predict", str(folder / "run"), str(path)]
    return words


def spoiled(rng: np.random.Generator, data: bytes) -> bytes:
    """Bytes cut, changed, doubled or emptied."""
    place = int(rng.integers(len(data)))
    kinds = [
        data[:place],
        data[:place] + bytes([data[place] ^ int(rng.integers(1, 256))]) + data[place + 1 :],
        data[:place] + rng.bytes(16) + data[place + 16 :],
        data + data[:place],
        b"",
        data[place:],
    ]
    return kinds[rng.integers(len(kinds))]


class Tally:
    """Counts what was tried and keeps what should not have happened."""

    def __init__(self) -> None:
        self.tried, self.refused, self.surprises = 0, 0, list[str]()

    def run(self, call: Callable[[], Any], what: str) -> Any:
        """Make a call; errors of robula's own are refusals."""
        self.tried += 1
        try:
            return call()
        except RobulaError:
            self.refused += 1
        except BaseException:
            self.surprises.append(f"{what}\n{traceback.format_exc(limit=-4)}")
        return None


def fuzz_api(count: int, rng: np.random.Generator) -> Tally:
    """Calls of the API."""
    tally = Tally()
    for index in range(count):
        tally.run(api_call(rng), f"API call {index}")
    return tally


def fuzz_cli(count: int, rng: np.random.Generator) -> Tally:
    """Command lines: exit code 0, or 2 with a sentence; 1 is for what should not happen."""
    tally, runner = Tally(), CliRunner()
    with tempfile.TemporaryDirectory() as name:
        for _ in range(count):
            words = cli_call(rng, Path(name))
            result = runner.invoke(app, words)
            tally.tried += 1
            tally.refused += result.exit_code != 0
            traced = result.exception is not None and not isinstance(result.exception, SystemExit)
            if traced or result.exit_code not in (0, 2):
                tally.surprises.append(f"{words}: exit {result.exit_code}, {result.exception!r}")
    return tally


def fuzz_files(count: int, rng: np.random.Generator) -> Tally:
    """Damaged posteriors, checkpoints and run folders: refused, or read as they were."""
    tally = Tally()
    model = robula.simulate.linear_regression(n_clean=60, dim=2, contamination=0.1, seed=1).model
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        posterior = robula.sample(model, contamination=0.1, **SHORT, checkpoint=folder / "run.ckpt")
        posterior.save(folder / "posterior.npz")
        (folder / "data.csv").write_text("x,y\n" + "\n".join(f"{k},{2 * k + (-1) ** k}" for k in range(30)) + "\n")
        words = ["fit", str(folder / "data.csv"), "--target", "y", "--out", str(folder / "run"), "--draws", "5"]
        assert CliRunner().invoke(app, [*words, "--burn-in", "3", "--no-sensitivity"]).exit_code == 0
        stored = read_run(folder / "run").posterior.draws
        readers: dict[Path, tuple[Callable[[], np.ndarray], np.ndarray]] = {
            folder / "posterior.npz": (lambda: robula.load(folder / "posterior.npz").draws, posterior.draws),
            folder / "run.ckpt": (
                lambda: robula.resume(folder / "run.ckpt", model, progress=False).draws,
                posterior.draws,
            ),
            folder / "run" / "posterior.npz": (lambda: read_run(folder / "run").posterior.draws, stored),
            folder / "run" / "run.json": (lambda: read_run(folder / "run").posterior.draws, stored),
        }
        whole = {path: path.read_bytes() for path in readers}
        for index in range(count):
            path = list(readers)[index % len(readers)]
            read, expected = readers[path]
            path.write_bytes(spoiled(rng, whole[path]))
            found = tally.run(read, f"damaged {path.name} {index}")
            if found is not None and not np.array_equal(found, expected):
                tally.surprises.append(f"damaged {path.name} {index} was read as something else")
            path.write_bytes(whole[path])
    return tally


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for option, default in (("--api", 2000), ("--cli", 700), ("--files", 1000), ("--seed", 0)):
        parser.add_argument(option, type=int, default=default)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    failed = False
    for name, fuzz in (("api", fuzz_api), ("cli", fuzz_cli), ("files", fuzz_files)):
        found = fuzz(getattr(given, name), np.random.default_rng([given.seed, len(name)]))
        failed |= bool(found.surprises)
        sys.stdout.write(f"{name}: {found.tried} tried, {found.refused} refused, {len(found.surprises)} surprises\n")
        sys.stdout.writelines(f"  {surprise}\n" for surprise in found.surprises[:20])
    sys.exit(failed)
