"""Run the leaderboard, or go on with it, and write its table, figure and page.

python -m benchmarks.leaderboard [--quick] [--jobs 2] [--methods nuts,student_t] [--out DIR] [--page]

Each (cell, method) is kept in its own file under DIR, so a killed run goes on where it was, and methods can be added
later. With --page the results go to benchmarks/leaderboard/results.csv, docs/leaderboard.md and its figure.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

from benchmarks.leaderboard.registry import jobs, known_methods
from benchmarks.leaderboard.restore import restore
from robula.experiments.runner import run_jobs, tidy

#: The committed table.
RESULTS = Path(__file__).parent / "results.csv"
_FLAGS = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"


def main() -> None:
    """Parse the arguments and run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.leaderboard", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few cells, under five minutes")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes")
    parser.add_argument("--methods", help=f"comma-separated, from {', '.join(known_methods())}; all by default")
    parser.add_argument("--out", type=Path, default=Path("leaderboard-results"), help="where finished cells are kept")
    parser.add_argument("--page", action="store_true", help="write the committed table, the docs page and its figure")
    parser.add_argument("--no-run", action="store_true", help="only use the cells that are finished")
    parser.add_argument("--restore", action="store_true", help="take the committed results as finished cells")
    arguments = parser.parse_args()
    methods = None if arguments.methods is None else arguments.methods.split(",")
    unknown = set(methods or ()) - set(known_methods())
    if unknown:
        parser.error(f"unknown method(s) {', '.join(sorted(unknown))}; known: {', '.join(known_methods())}")
    chosen = jobs(methods, arguments.quick)
    if arguments.restore:
        print(f"{restore(RESULTS, arguments.out)} committed results restored to {arguments.out}")
    if not arguments.no_run:
        os.environ["XLA_FLAGS"] = _FLAGS
        # Workers compile the same samplers; the second finds the first one's work.
        os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str((arguments.out / "jax-cache").resolve()))
        forget_failures(arguments.out)
        run_jobs(
            chosen,
            arguments.out,
            arguments.jobs,
            resume=True,
            progress=True,
            registry="benchmarks.leaderboard.registry",
        )
    finished = [arguments.out / f"{job.key}.json" for job in jobs(None, arguments.quick)]
    rows = tidy(json.loads(path.read_text()) for path in finished if path.exists())
    failed = [row for row in rows if "error" in row]
    print(f"{len(rows)} of {len(finished)} results in {arguments.out}, {len(failed)} failed")
    for row in failed[:20]:
        print(row)
    if arguments.page:
        from benchmarks.leaderboard.page import write_all

        write_all(rows)


def forget_failures(folder: Path) -> None:
    """Remove results that hold an error or a refusal, so that they are tried again."""
    for path in folder.glob("leaderboard-*.json"):
        if any("error" in row or "skipped" in row for row in json.loads(path.read_text())["rows"]):
            path.unlink()


if __name__ == "__main__":
    main()
