"""``robula fit --missing``, ``--drop-rows``: rows that a user knows to be bad are left out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tests.workflow.test_fit_table import QUICK, invoke

# Short runs warn.
pytestmark = pytest.mark.filterwarnings("ignore::robula.exceptions.RobulaWarning")


@pytest.fixture
def file(tmp_path):
    """Counts of 60 rows with -999 in rows 8 and 20, a text code in row 3, and an empty cell in row 5."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=60).round(3), "site": rng.choice(["north", "south"], 60)})
    table["claims"] = rng.poisson(3, size=60)
    table.loc[[7, 19], "claims"] = -999
    table.loc[2, "site"] = "unknown"
    table.loc[4, "x"] = np.nan
    table.to_csv(tmp_path / "claims.csv", index=False)
    return tmp_path / "claims.csv"


def poisson(file, *words: object, code: int = 0) -> str:
    out = file.parent / "run"
    return invoke("fit", file, "--model", "poisson", "--target", "claims", "--out", out, *QUICK, *words, code=code)


def test_a_refused_count_is_named_by_its_row_in_the_file(file):
    said = poisson(file, "--drop-missing", code=2)
    assert "the column of --target has 2 value(s) that are not counts, first -999 in row 8;" in said
    assert "-999, 2 times, looks like a code for missing" in said
    assert "leave these rows out with --missing -999 --drop-missing." in said
    assert "Model" not in said


def test_what_the_message_asks_for_works(file):
    said = poisson(file, "--missing", "-999,unknown", "--drop-missing")
    assert (
        "4 row(s) with missing values were left out. By column: 'claims' lacks 2; 'x' lacks 1; 'site' lacks 1." in said
    )
    rows = pd.read_csv(file.parent / "run" / "rows.csv")
    assert list(rows.loc[rows["weight"].isna(), "row"]) == [3, 5, 8, 20]
    assert rows.loc[7, "claims"] == -999  # the file is shown as it is
    assert "--missing -999,unknown" in (file.parent / "run" / "command.txt").read_text()


def test_codes_without_drop_missing_are_listed(file):
    said = poisson(file, "--missing", "-999.0", code=2)
    assert "3 row(s) have missing, unreadable or infinite values: 5, 8, 20" in said


def test_a_code_that_is_nowhere_is_told(file):
    said = poisson(file, "--missing", "-999,-77", "--drop-missing")
    assert "no cell of the columns that are used has the code '-77' of --missing." in said


def test_predictions_know_the_codes_of_the_fit(file):
    poisson(file, "--missing", "unknown,-999", "--drop-missing")
    new = file.parent / "new.csv"
    new.write_text("x,site\n1.0,north\n-999,south\n2.0,unknown\n")
    said = invoke("predict", file.parent / "run", new, code=2)
    assert "2 row(s) have missing, unreadable or infinite values: 2, 3" in said
    assert len(invoke("predict", file.parent / "run", new, "--drop-missing").splitlines()) == 2


def test_rows_are_dropped_by_number_and_by_file(file):
    said = poisson(file, "--drop-missing", "--drop-rows", "20,7-9")
    assert "4 row(s) of --drop-rows were left out." in said
    assert "1 row(s) with missing values were left out." in said
    first = pd.read_csv(file.parent / "run" / "rows.csv")
    assert list(first.loc[first["weight"].isna(), "row"]) == [5, 7, 8, 9, 20]
    listed = file.parent / "bad.csv"
    first[first["row"].isin([7, 8, 9, 20])].to_csv(listed, index=False)
    poisson(file, "--drop-missing", "--drop-rows", listed)
    pd.testing.assert_frame_equal(first, pd.read_csv(file.parent / "run" / "rows.csv"))


def test_a_column_of_the_file_that_is_called_row_is_not_ours(file):
    table = pd.read_csv(file).assign(row=1.0)
    table.to_csv(file, index=False)
    poisson(file, "--drop-missing", "--exclude", "row", "--drop-rows", "8,20")
    rows = pd.read_csv(file.parent / "run" / "rows.csv")
    assert list(rows.columns[:2]) == ["robula_row", "weight"]
    rows[rows["robula_row"].isin([8, 20])].to_csv(file.parent / "bad.csv", index=False)
    poisson(file, "--drop-missing", "--exclude", "row", "--drop-rows", file.parent / "bad.csv")
    again = pd.read_csv(file.parent / "run" / "rows.csv")
    assert list(again.loc[again["weight"].isna(), "robula_row"]) == [5, 8, 20]


WRONG = {
    "0,5": "names 0; the file has rows 1 to 60",
    "61": "names 61; the file has rows 1 to 60",
    "9-7": "names 9-7; the file has rows 1 to 60",
    "1-60": "names all 60 rows",
    "seven": "'seven' is neither row numbers, such as 3,17,40-52, nor a file with a column 'row'",
    "": "'' is neither row numbers",
}


@pytest.mark.parametrize(("rows", "why"), WRONG.items())
def test_rows_that_are_not_there_are_refused(file, rows, why):
    assert why in " ".join(poisson(file, "--drop-rows", rows, code=2).split())


@pytest.mark.parametrize(
    ("content", "why"), [("line\n3\n", "no column 'row'"), ("row\n3\nx\n", "has 'x' in its column 'row'")]
)
def test_files_that_list_no_rows_are_refused(file, content, why):
    (file.parent / "bad.csv").write_text(content)
    assert why in poisson(file, "--drop-rows", file.parent / "bad.csv", code=2)


def test_a_column_that_is_nearly_empty_is_named(file):
    table = pd.read_csv(file).assign(income=np.nan)
    table.loc[:19, "income"] = 1.0 + table.index[:20]
    table.to_csv(file, index=False)
    said = poisson(file, "--missing", "-999", "--drop-missing")
    assert "By column: 'income' lacks 40;" in said
    assert "only 17 of 60 rows are left: leave out such columns with --exclude instead." in said
    table.assign(income=np.nan).to_csv(file, index=False)
    assert "By column: 'income' lacks 60;" in poisson(file, "--drop-missing", code=2)
    # One row that lacks nothing: no column is to blame.
    table[["income"]].assign(claims=1).head(1).to_csv(file, index=False)
    said = poisson(file, code=2)
    assert "1 row(s) without missing values are left, and 2 or more are needed." in said
    assert "By column" not in said


def test_codes_that_were_taken_for_numbers_are_told_with_the_way_out(tmp_path):
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"height": rng.normal(172, 9, 200).round(1), "waist": rng.normal(80, 9, 200).round(1)})
    table["mass"] = (0.5 * table["height"] + 0.4 * table["waist"] - 50 + rng.normal(size=200)).round(1)
    table.loc[:3, "waist"] = -999
    table.loc[7:9, "mass"] = -999
    table.to_csv(tmp_path / "t.csv", index=False)
    words = ["fit", tmp_path / "t.csv", "--target", "mass", "--out", tmp_path / "run", *QUICK]
    said = invoke(*words)
    assert "-999 is a code for missing in waist: 4 cells, whose rows hardly count." in said
    assert "-999 is a code for missing in mass, the target, of 3 rows." in said
    assert "To leave these rows out: --missing -999 --drop-missing." in said
    errors = pd.read_csv(tmp_path / "run" / "rows.csv")["prediction_error"]
    assert errors[7:10].max() < -100
    assert errors[10:].abs().max() < 5
    assert "code for missing" not in invoke(*words, "--missing", "-999", "--drop-missing")
    table.replace({"waist": {-999: -99}}).to_csv(tmp_path / "t.csv", index=False)
    assert "To leave these rows out: --missing -999,-99 --drop" in invoke(*words, "--missing", "-999", "--drop-missing")


def test_the_report_of_a_command_speaks_of_options(tmp_path):
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"x": rng.normal(size=120)})
    table["y"] = 2.0 * table["x"] + rng.normal(size=120)
    table.loc[:10, "y"] += 9.0
    table.to_csv(tmp_path / "t.csv", index=False)
    words = ["fit", tmp_path / "t.csv", "--target", "y", "--out", tmp_path / "run", "--contamination", "0.095", *QUICK]
    said = invoke(*words)
    page = (tmp_path / "run" / "report.html").read_text().split("All settings of the run")[0]
    assert "The whole of --contamination 0.095 is used up" in said
    assert "The whole of --contamination 0.095 is used up" in page
    assert "compare with --contamination 0)" in page
    assert "contamination=" not in said + page
