"""Files that are no tables: a clear one-line error or a result, never a traceback."""

from __future__ import annotations

import io
import os

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from robula.cli.main import app
from robula.exceptions import InputError
from robula.tables.prepared_table import pick_columns, prepare_table
from robula.tables.table_files import csv_text, read_table

RUNNER = CliRunner()
pytestmark = pytest.mark.filterwarnings("ignore::robula.exceptions.RobulaWarning")
QUICK = ["--draws", "10", "--burn-in", "5", "--chains", "1", "--no-sensitivity"]
RNG = np.random.default_rng(0)


def survives(folder, content: bytes, *options: str, name: str = "t.csv") -> tuple[int, str]:
    path = folder / name
    path.write_bytes(content)
    out = folder / f"out-{os.urandom(6).hex()}"
    result = RUNNER.invoke(app, ["fit", str(path), "--target", "y", "--out", str(out), *QUICK, *options])
    lines = result.output.strip().splitlines()
    if result.exit_code == 0:
        assert (out / "report.html").is_file()
    else:
        # Code 1 is an error nobody foresaw.
        assert result.exit_code == 2, result.output
        assert len(lines) == 1
        assert lines[0].startswith("robula fit: ")
        assert "Traceback" not in result.output
        assert not out.exists()
    return result.exit_code, result.output


def rows(count: int = 30, delimiter: str = ",") -> str:
    lines = [delimiter.join(f"{value:.3f}" for value in RNG.normal(size=3)) for _ in range(count)]
    return "\n".join([delimiter.join(["a", "b", "y"]), *lines]) + "\n"


GOOD = rows().encode()
CASES = {
    "empty": (b"", "is empty"),
    "blank": (b" \n\n  \n", "is empty"),
    "header only": (b"a,b,y\n", "no data rows"),
    "one row": (b"a,b,y\n1,2,3\n", "1 row"),
    "two rows": (b"a,b,y\n1,2,3\n2,3,4\n", None),
    "one column": (b"y\n1\n2\n3\n", "no feature column"),
    "wrong delimiter": (rows(delimiter="|").encode(), "no column 'y'"),
    "mixed delimiters": (b"a,b,y\n1;2;3\n4;5;6\n", "missing"),
    "long rows": (b"a,b,y\n1,2,3\n1,2,3,4\n1,2,3\n", "cannot be read"),
    "all rows long": (b"a,b,y\n1,2,3,4\n1,2,3,4\n", "cannot be read"),
    "short rows": (b"a,b,y\n1,2,3\n1,2\n1,2,3\n", "missing"),
    "open quote": (b'a,b,y\n1,"2,3\n4,5,6\n', None),
    "binary": (bytes(range(256)) * 20, "not text"),
    "png": (b"\x89PNG\r\n\x1a\n" + bytes(100), "not text"),
    "latin-1": ("größe,b,y\n1,2,3\n4,5,6\n".encode("latin-1"), "not UTF-8"),
    "utf-16": (rows().encode("utf-16"), "not"),
    "bom": (b"\xef\xbb\xbf" + rows().encode(), None),
    "old mac": (rows().replace("\n", "\r").encode(), None),
    "windows": (rows().replace("\n", "\r\n").encode(), None),
    "same name twice": (b"a,a,y\n1,2,3\n4,5,6\n", "comes twice"),
    "no header names": (b",,y\n1,2,3\n4,5,6\n", "comes twice"),
    "constant": (b"a,b,y\n" + b"1,1,1\n" * 20, "nothing to explain"),
    "workbook": (b"PK\x03\x04" + b"0" * 50, "a workbook"),
    "json": (b'{"a": [1, 2]}', "is JSON"),
    "no names": (rows().encode().split(b"\n", 1)[1], "must have the names"),
    "thousands": (b'a,b,y\n"1,000",1,2\n' + b"".join(b'"%d,000",1,%d\n' % (i, i * i) for i in range(40)), "as texts"),
    "huge numbers": (b"a,b,y\n1e300,2,3\n4,5,6\n7,8,1e308\n", "missing, unreadable or infinite"),
    "large numbers": (b"a,b,y\n1e25,2,3\n4,5,6\n7,8,1e28\n", None),
    "infinities": (b"a,b,y\ninf,2,3\n4,-inf,6\n7,8,9\n", "missing, unreadable or infinite"),
    "not a number": (b"a,b,y\nnan,2,3\n4,5,6\n7,8,9\n", "missing, unreadable or infinite"),
    "all missing": (b"a,b,y\n,,\n,,\n,,\n", "missing"),
    "escapes": (b"a\x1b[31m,b,y\n1,2,\n4,5,6\n", "missing"),
    "ten thousand columns": (
        (",".join([f"c{i}" for i in range(9_999)] + ["y"]) + "\n" + ("1," * 9_999 + "2\n") * 5).encode(),
        "at most 500",
    ),
    "wide and short": (
        (",".join([f"c{i}" for i in range(40)] + ["y"]) + "\n").encode()
        + "".join(",".join(f"{v:.3f}" for v in RNG.normal(size=41)) + "\n" for _ in range(6)).encode(),
        None,
    ),
    "one huge cell": (b"a,b,y\n" + b"x" * 300_000 + b",1,2\n3,4,5\n", None),
    "one text": (b"y,a\n1,x\n2,x\n3,x\n", "same value in every row"),
    "html": (b"<!doctype html><html><body>404</body></html>\n" * 5, "is HTML"),
}


@pytest.mark.parametrize("name", CASES)
def test_odd_files(tmp_path, name):
    content, words = CASES[name]
    code, output = survives(tmp_path, content)
    if words is not None:
        assert code == 2
        assert words in output
    assert "\x1b" not in output


def test_missing_file_and_folder(tmp_path):
    for path in (tmp_path / "none.csv", tmp_path):
        result = RUNNER.invoke(app, ["fit", str(path), "--target", "y", "--out", str(tmp_path / "o")])
        assert result.exit_code == 2
        assert len(result.output.strip().splitlines()) == 1


cell = st.one_of(
    st.floats(width=32).map(str),
    st.integers(-(10**6), 10**6).map(str),
    st.sampled_from(
        ["", "NA", "-999", "1,5", '"', '"a;b"', "\t", "x", "é", "1e400", "0x10", "True", "'", "=1+1", "\\"]
    ),
    st.text(max_size=5),
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    table=st.lists(st.lists(cell, min_size=1, max_size=5), min_size=1, max_size=25),
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
    options=st.sampled_from(
        [[], ["--drop-missing"], ["--model", "logistic"], ["--model", "poisson", "--drop-missing"]]
    ),
)
def test_random_tables(tmp_path, table, delimiter, options):
    lines = [delimiter.join(["y", "a", "b", "c", "d"][: max(len(table[0]), 2)])]
    lines += [delimiter.join(record) for record in table]
    survives(tmp_path, "\n".join(lines).encode("utf-8", "replace"), *options)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=300))
def test_random_bytes(tmp_path, content):
    survives(tmp_path, content)
    survives(tmp_path, content, name="t.parquet")


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_tables(tmp_path, data):
    """A good file with a few bytes changed."""
    content = bytearray(GOOD)
    for _ in range(data.draw(st.integers(1, 5))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    survives(tmp_path, bytes(content), "--drop-missing")


@pytest.mark.parametrize("kind", ["datetime", "zone", "duration", "period"])
def test_dates_in_parquet_are_refused_where_they_are_used(tmp_path, kind):
    """They used to be fitted as nanoseconds."""
    pytest.importorskip("pyarrow")
    days = pd.date_range("2020-01-01", periods=20)
    when = {
        "datetime": days,
        "zone": days.tz_localize("Europe/Paris"),
        "duration": days - days[0],
        "period": days.to_period("D"),
    }[kind]
    table = pd.DataFrame({"when": when, "x": np.arange(20.0), "y": np.arange(20.0) ** 2})
    table.to_parquet(tmp_path / "t.parquet")
    read = read_table(tmp_path / "t.parquet")
    with pytest.raises(InputError, match=r"'when' holds dates, durations or intervals .* --exclude when"):
        prepare_table(read, target="y")
    assert prepare_table(read, target="y", exclude=["when"]).encoding.names == ["x"]
    with pytest.raises(InputError, match="'when' holds dates"):
        prepare_table(read, target="when", features=["x"])


def test_cells_that_a_spreadsheet_would_run_are_written_as_text():
    table = pd.DataFrame({"=a": ["=1+1", "+2", "-3.5", "@x", "\tz", "fine", None], "n": [-1.0, 2, 3, 4, 5, 6, 7]})
    text = csv_text(table)
    assert text.splitlines()[0] == "'=a,n"
    read = pd.read_csv(io.StringIO(text), keep_default_na=False)
    assert list(read["'=a"]) == ["'=1+1", "+2", "-3.5", "'@x", "'\tz", "fine", ""]
    assert list(read["n"]) == list(table["n"])


def test_a_table_is_written_as_pandas_writes_it(monkeypatch):
    values = [1.5, np.nan, 1e16, 1e-5, -0.0, np.inf, 5e-324]
    table = pd.DataFrame({"f": values, "g": np.float32(0.1), "i": range(7), "t": ["a,b", 'q"', None, *"cdef"]})
    for rows_at_once in (2, 100):
        monkeypatch.setattr("robula.tables.table_files._WRITTEN_AT_ONCE", rows_at_once)
        assert csv_text(table) == table.to_csv(index=False, lineterminator="\n")
        assert csv_text(table[:0]) == "f,g,i,t\n"


def test_other_delimiters_are_asked_about():
    with pytest.raises(InputError, match="check the delimiter"):
        pick_columns(pd.DataFrame({"a|y": ["1|2", "3|4"]}), "y", None, [])
