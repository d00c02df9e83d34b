"""Run the real-data board, or go on with it, and write its page.

python -m benchmarks.realdata [--quick] [--jobs 2] [--methods robula | rivals | mm,huber] [--sets Auto,diabetes]
    [--kinds copies,x*10] [--rates 0,0.1] [--told 0.2] [--page]

Every finished cell is a line of benchmarks/realdata/results.csv and is not run again; a killed run goes on where it was.
After a change of robula: --methods robula --fresh. The development data are found by ROBULA_REALDATA_DIR.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

# Workers are the parallelism; figures must not depend on the number of threads.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

from benchmarks.realdata import store  # noqa: E402  (after the threads are set)
from benchmarks.realdata.errors import AS_THEY_COME, KINDS  # noqa: E402
from benchmarks.realdata.page import write_page, write_readme  # noqa: E402
from benchmarks.realdata.plan import AIR, FEWEST_ROWS, METHODS, OURS, Cell, cells  # noqa: E402
from benchmarks.realdata.run import run_problem  # noqa: E402
from benchmarks.realdata.sets import AbsentError, load, names  # noqa: E402
from robula.experiments.runner import leave_with_parent  # noqa: E402

#: The committed table.
RESULTS = Path(__file__).parent / "results.csv"
_PAGE = Path(__file__).parents[2] / "docs" / "realdata.md"
_README = Path(__file__).parents[2] / "README.md"
_EVERY_KIND = (AS_THEY_COME, AIR, *KINDS)


def main() -> int:
    """Parse the arguments, run, and say what is there."""
    arguments = _parser().parse_args()
    chosen = _chosen(arguments)
    if arguments.fresh:
        keys = set(chosen)
        store.rewrite(arguments.out, lambda table: table[[Cell(*key) not in keys for key in _keys(table)]])
    done = store.finished(arguments.out)
    waiting = [cell for cell in chosen if cell not in done]
    problems = [list(group) for _, group in itertools.groupby(waiting, key=lambda cell: cell[:3])]
    print(f"{len(chosen)} cells, {len(chosen) - len(waiting)} finished before", flush=True)
    if not chosen:
        sys.exit("no cell is of all that was asked for")
    began, count = time.monotonic(), 0
    for rows in _results(problems, arguments.jobs):
        store.append(arguments.out, rows)
        count += len(rows)
        if sys.stderr.isatty():
            print(f"\r{count} of {len(waiting)}, {time.monotonic() - began:.0f} s", end="", file=sys.stderr)
    table = store.rewrite(arguments.out, lambda table: table)
    failed = table[table["failed"] != ""]
    print(f"{count} cells in {time.monotonic() - began:.0f} s; {len(table)} in {arguments.out}, {len(failed)} failed")
    for row in failed.head(20).to_dict("records"):
        print("  ", *(row[name] for name in (*store.KEYS, "failed")))
    if arguments.page:
        write_page(table, _PAGE)
        write_readme(table, _README)
        print(f"wrote {_PAGE} and the table of {_README}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.realdata", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="three small sets, a minute")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes")
    parser.add_argument("--methods", default="all", help=f"all, rivals, or some of {', '.join(METHODS)}")
    parser.add_argument("--sets", help=f"some of {', '.join(names())}")
    parser.add_argument("--kinds", help=f"some of {', '.join(_EVERY_KIND).replace('%', '%%')}")
    parser.add_argument(
        "--rates", type=_numbers, help="some of the shares of wrong rows: 0,0.05,0.1; 0 is as they come"
    )
    parser.add_argument("--told", help="some of what robula is told: 0.1,0.2,estimate")
    parser.add_argument("--no-nuts", action="store_true", help="leave out the rivals that sample by NUTS")
    parser.add_argument("--fresh", action="store_true", help="forget the finished cells among those chosen")
    parser.add_argument("--out", type=Path, default=RESULTS, help="the table")
    parser.add_argument(
        "--page", action="store_true", help="write docs/realdata.md and the README's table from the whole table"
    )
    return parser


def _numbers(text: str) -> list[float]:
    return [float(part) for part in text.split(",")]


def _chosen(arguments: argparse.Namespace) -> list[Cell]:
    """The cells that are asked for and whose data are here."""
    rivals = [name for name in METHODS if name != OURS]
    told = {"all": list(METHODS), "rivals": rivals}.get(arguments.methods) or arguments.methods.split(",")
    sets = names() if arguments.sets is None else arguments.sets.split(",")
    kinds = _EVERY_KIND if arguments.kinds is None else arguments.kinds.split(",")
    for what, asked, known in (
        ("method", told, METHODS),
        ("set", sets, names()),
        ("kind", kinds, _EVERY_KIND),
    ):
        if unknown := sorted(set(asked) - set(known)):
            sys.exit(f"unknown {what}(s) {', '.join(unknown)}; known: {', '.join(known)}")
    sizes: dict[str, int] = {}
    for name in sets:
        try:
            sizes[name] = len(load(name).y)
        except AbsentError as error:
            print(f"{name} is left out: {error}")
    return [
        cell
        for cell in cells(arguments.quick)
        if cell.set in sizes
        and cell.method in told
        and cell.kind in kinds
        and (arguments.rates is None or cell.rate in arguments.rates)
        and (arguments.told is None or not cell.contamination or cell.contamination in arguments.told.split(","))
        and not (arguments.no_nuts and cell.method.endswith("_nuts"))
        and (cell.rate == 0.0 or sizes[cell.set] >= FEWEST_ROWS)
    ]


def _results(problems: list[list[Cell]], jobs: int) -> Iterator[list[dict[str, Any]]]:
    """Lines as they are finished, problem by problem."""
    if jobs == 1:
        yield from map(run_problem, problems)
        return
    context = get_context("spawn")
    with ProcessPoolExecutor(jobs, context, leave_with_parent, (os.getpid(),)) as pool:
        for future in as_completed([pool.submit(run_problem, problem) for problem in problems]):
            yield future.result()


def _keys(table: Any) -> Iterator[tuple[Any, ...]]:
    return table[store.KEYS].itertuples(index=False, name=None)


if __name__ == "__main__":
    sys.exit(main())
