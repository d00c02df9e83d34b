"""The report: self-contained, escaped, the answer right; and in a real browser where there is one."""

from __future__ import annotations

import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import robula
from robula.diagnosis.flipping_rows import Hinge
from robula.diagnosis.without_rows import Estimate
from robula.models.gaussian_posterior import GaussianPosterior
from robula.models.posterior_mode import laplace
from robula.reporting.findings import reasons
from robula.reporting.quantities import lines, quantities
from robula.reporting.report_sections import answer
from robula.reporting.svg_pictures import rough
from robula.tables.odd_cells import odd_cells
from tests.helpers import small_models

NASTY = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def run():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = 1.0 + X @ [1.0, 2.0, -1.0] + rng.normal(size=300)
    y[:15] = -999.0
    data = pd.DataFrame(X, columns=["age", NASTY, "$dose$"]).assign(
        y=y, site=np.where(np.arange(300) % 2, "<img src=x onerror=alert(2)>", "south & 'east'")
    )
    model = robula.LinearModel(
        data.iloc[:, :3], y, noise_scale=1.0, prior=robula.NormalPrior(0.0, 100.0), intercept=True
    )
    posterior = robula.sample(model, contamination=0.1, draws=300)
    levels = pd.DataFrame(
        [(level, name, 1.0 + level, 0.5, 2.0) for level in (0.0, 0.1, 0.2) for name in posterior.parameter_names],
        columns=["contamination", "parameter", "mean", "low", "high"],
    )
    return model, posterior, data, levels


@pytest.fixture(scope="module")
def page(run, tmp_path_factory) -> Path:
    model, posterior, data, levels = run
    return robula.report(
        posterior,
        tmp_path_factory.mktemp("report") / "report.html",
        model=model,
        data=data,
        sensitivity=levels,
        title=f"Wages {NASTY}",
        command=f"robula fit '{NASTY}.csv'",
        notes=[f"Scaled {NASTY}."],
    )


class Strict(HTMLParser):
    """Counts tags, and checks that they nest."""

    VOID = frozenset({"meta", "line", "circle", "rect", "polyline", "polygon"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: dict[str, int] = {}
        self.text: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.seen[tag] = self.seen.get(tag, 0) + 1
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen[tag] = self.seen.get(tag, 0) + 1

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def parse(path: Path) -> Strict:
    parser = Strict()
    parser.feed(path.read_text(encoding="utf-8"))
    assert parser.open == []
    return parser


def test_everything_from_outside_is_text(page):
    parser = parse(page)
    assert parser.seen["script"] == 1  # ours
    assert "img" not in parser.seen
    assert "i" not in parser.seen
    assert any(NASTY in text for text in parser.text)


def test_nothing_is_fetched(page):
    html = page.read_text(encoding="utf-8")
    assert not re.search(r"""(src|href|url)\s*[=(]\s*["']?\s*(https?:)?//""", html)
    assert "default-src 'none'" in html
    assert "@import" not in html


def test_the_answer_comes_first_and_is_right(page, run):
    _, posterior, _, _ = run
    text = " ".join(" ".join(parse(page).text).split())
    low = int((posterior.row_weights < 0.5).sum())
    assert f"{low} of 300 rows" in text
    order = ["are distrusted", "Verdict", "Means with 95 % intervals", "How few rows", "Rows that move the answer most",
             "another share", "A row's weight is", "Scores of the trusted rows", "Started apart",
             "Posterior and traces", "To repeat it", "Please cite"]  # fmt: skip
    places = [text.index(words) for words in order]
    assert places == sorted(places)
    assert "Compared with trusting every row, intercept changes most" in text
    assert "y -" in text  # the column that makes the sentinels odd
    assert "1907.11826" in text


def test_a_posterior_alone_is_enough(run, tmp_path):
    _, posterior, _, _ = run
    parser = parse(robula.report(posterior, tmp_path / "r.html"))
    assert "all rows trusted" not in " ".join(parser.text)
    assert parser.seen["svg"] > 4


def test_clean_data_and_a_model_with_its_own_variables(tmp_path):
    model = small_models()["jax"]
    posterior = robula.sample(model, contamination=0.0, draws=50, selector="mean", kernel="preconditioned_lm")
    text = " ".join(parse(robula.report(posterior, tmp_path / "r.html", model=model)).text)
    assert "None of the 40 rows" in text
    assert "beta[0]" in text


def test_one_draw_and_constant_draws_are_shown(tmp_path):
    flat = robula.Posterior(draws=np.ones((1, 1, 2)), row_weights=np.ones(3), parameter_names=("a", "b"))
    assert parse(robula.report(flat, tmp_path / "r.html")).seen["svg"]


def test_same_bytes_twice(run, page, tmp_path):
    _, posterior, _, _ = run
    first = robula.report(posterior, tmp_path / "a.html").read_bytes()
    assert robula.report(posterior, tmp_path / "b.html").read_bytes() == first


def test_wrong_arguments_are_refused(run, tmp_path):
    _, posterior, data, _ = run
    for arguments, words in [
        (dict(posterior=3, path=tmp_path / "r.html"), "not a robula posterior"),
        (dict(posterior=posterior, path=tmp_path / "no" / "r.html"), "does not exist"),
        (dict(posterior=posterior, path=tmp_path / "r.html", data=data[:5]), "5 rows"),
        (dict(posterior=posterior, path=tmp_path / "r.html", sensitivity=data), "needs the columns"),
        (dict(posterior=posterior, path=tmp_path / "r.html", model=small_models()["mean"]), "parameters"),
    ]:
        with pytest.raises(robula.exceptions.InputError, match=words):
            robula.report(**arguments)


@pytest.mark.parametrize("name", ["linear-intercept", "mean-full", "logistic", "poisson", "jax"])
def test_laplace_finds_the_mode(name):
    model = small_models(n=80)[name]
    found = laplace(model)
    assert found is not None
    slope = model.weighted_gradient(found.mean, np.ones(80)) + model.prior.gradient(found.mean)
    assert np.abs(slope @ found.covariance @ slope) < 1e-8
    if name in ("linear-intercept", "mean-full"):
        exact = model.gaussian_posterior()
        np.testing.assert_allclose(found.mean, exact.mean, atol=1e-6)
        np.testing.assert_allclose(found.covariance, exact.covariance, atol=1e-9)


def test_odd_columns_are_the_ones_that_were_changed():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(100, 4)), columns=list("abcd")).assign(text="x", constant=1.0)
    frame.loc[3, "b"], frame.loc[7, ["a", "d"]] = 1000.0, [50.0, -60.0]
    cells = odd_cells(frame[list("abcd")].to_numpy(), list("abcd"))
    errors = {"error of y": np.where(np.arange(100) == 7, 9.0, 0.0)}
    assert [reason.words[:2] for reason in reasons(cells, errors, 3)] == ["b "]
    assert {reason.words[:2] for reason in reasons(cells, errors, 7)} == {"d ", "a ", "er"}
    assert reasons(None, errors, 3) == []


@pytest.mark.parametrize("name", ["logistic", "poisson", "mean", "linear-unknown-scale"])
def test_every_kind_of_law_has_a_picture(name, tmp_path):
    model = small_models(n=200)[name]
    posterior = robula.sample(model, contamination=0.1, draws=100, progress=False)
    text = " ".join(parse(robula.report(posterior, tmp_path / "r.html", model=model)).text)
    assert ("Groups of trusted rows" if name == "logistic" else "predictive interval") in text


def test_a_conclusion_that_hangs_on_few_rows_and_odd_kept_rows_come_first(tmp_path):
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"weak": rng.normal(50.0, 5.0, 200).round(), "pressure": rng.normal(90.0, 10.0, 200).round()})
    y = 2.0 * data["weak"] + 0.3 * data["pressure"] + rng.normal(0.0, 12.0, 200)
    data.loc[:4, "pressure"] = (data.loc[:4, "pressure"] / 10.0).round(1)
    data.loc[5:8, "weak"] = -999.0
    model = robula.LinearModel(data, y, noise_scale=12.0, intercept=True, prior=robula.NormalPrior(0.0, 1e6))
    posterior = robula.sample(model, contamination=0.0, draws=500, progress=False)
    page = robula.report(posterior, tmp_path / "r.html", model=model, data=data.assign(y=y))
    first = page.read_text(encoding="utf-8").split('class="answer"')[1].split("<nav")[0]
    assert "-999 is a code for missing in weak: 4 cells; 4 of their 4 rows count, as if it were a number." in first
    assert "No distrusted row and" in page.read_text(encoding="utf-8")
    assert "They matter: without them" in first


def test_coefficients_come_before_the_noise_scale(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = X @ [1.0, 2.0] + rng.normal(size=200)
    y[:10] += 60.0 * np.sign(X[:10, 0])
    model = robula.LinearModel(X, y, noise_scale="estimate", prior=robula.NormalPrior(0.0, 100.0))
    posterior = robula.sample(model, contamination=0.1, draws=200, progress=False)
    ordered = lines(quantities(posterior), GaussianPosterior(np.array([4.0, 2.0, 14.0]), np.eye(3)))
    assert [line.name for line in ordered] == ["0", "1", "noise_scale"]
    assert ordered[2].moved > ordered[0].moved, "or this test shows nothing"
    calm = lines(quantities(posterior), GaussianPosterior(np.array([*posterior.mean[:2], 14.0]), np.eye(3)))
    # The scale is worth the sentence where nothing else moved.
    assert "noise_scale</strong> changes most" in answer(posterior, calm, [], [], None, range(200))
    assert "<strong>0</strong> changes most" in answer(posterior, ordered, [], [], None, range(200))


@pytest.mark.parametrize("confirmed", [True, False])
def test_what_a_refit_does_not_confirm_is_no_headline(run, confirmed):
    _, posterior, _, _ = run
    before, refitted = Estimate(0.72, 0.44, 1.01), Estimate(0.96, -0.1, 1.16)
    hinge = Hinge("age", "interval", np.array([20, 3]), 285, before, before, refitted, confirmed)
    first = answer(posterior, lines(quantities(posterior), None), [], [(hinge, hinge)], None, range(300))
    assert ("2 rows of the 285 that count" in first) is confirmed


def test_digits_are_as_many_as_they_mean():
    told = [rough(value) for value in (79.43, 1234.0, 9.96, 4.396, 0.7275, -0.05, 0.0001, 0.0)]
    assert told == ["79", "1,234", "10", "4.4", "0.73", "-0.05", "0", "0"]


@pytest.mark.slow
def test_many_rows_and_columns_stay_small(tmp_path):
    rng = np.random.default_rng(0)
    rows, columns = 20_000, 200
    data = pd.DataFrame(rng.normal(size=(rows, columns)).astype(np.float32).round(2))
    data.columns = [f"a rather long name of a column {index}" for index in range(columns)]
    weights = np.ones(rows)
    weights[:3000] = 0.0
    posterior = robula.Posterior(rng.normal(size=(4, 100, columns)), weights, tuple(data.columns), settings={})
    page = robula.report(posterior, tmp_path / "r.html", data=data)
    assert page.stat().st_size < 3_000_000


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    names = ("chromium", "chromium-browser", "google-chrome")
    chromium, driver = next(filter(None, map(shutil.which, names)), None), shutil.which("chromedriver")
    if not chromium or not driver:
        pytest.skip("no Chromium with ChromeDriver on this machine (Debian: apt-get install chromium chromium-driver)")
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (
        "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        f"--user-data-dir={tmp_path_factory.mktemp('chromium')}",
    ):  # fmt: skip
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    session = webdriver.Chrome(service=webdriver.ChromeService(driver), options=options)
    yield session
    session.quit()


@pytest.mark.parametrize(("width", "height"), [(1200, 900), (390, 800)], ids=["desktop", "phone"])
def test_in_a_real_browser(browser, page, width, height):
    """No console error, no sideways scrolling, sorting works, and the nasty column is text."""
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
    )
    browser.get(page.as_uri())
    assert browser.get_log("browser") == []
    wide = browser.execute_script("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 0
    headings = browser.execute_script(
        "return [...document.querySelectorAll('#listed thead th')].map(h => h.textContent)"
    )
    assert headings[:3] == ["row", "weight", "what is odd"]
    assert NASTY in headings
    press = "document.querySelectorAll('#listed thead button')[arguments[0]].click()"
    read = "return [...document.querySelectorAll('#listed tbody tr')].map(r => +r.cells[arguments[0]].dataset.value)"
    column = headings.index("age")
    browser.execute_script(press, column)
    ascending = browser.execute_script(read, column)
    assert ascending == sorted(ascending)
    assert len(ascending) > 10
    browser.execute_script(press, column)
    assert browser.execute_script(read, column) == sorted(ascending, reverse=True)
    sort = "return document.querySelectorAll('#listed thead th')[arguments[0]].getAttribute('aria-sort')"
    assert browser.execute_script(sort, column) == "descending"
    text = headings.index("site")
    browser.execute_script(press, text)
    cells = browser.execute_script(
        "return [...document.querySelectorAll('#listed tbody tr')].map(r => r.cells[arguments[0]].textContent)", text
    )
    assert cells in (sorted(cells), sorted(cells, reverse=True))
    assert browser.get_log("browser") == []


def test_the_response_and_columns_with_odd_cells_are_among_those_shown(tmp_path):
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.normal(50.0, 5.0, size=(200, 40)).round(1), columns=[f"c{index}" for index in range(40)])
    data.loc[:4, "c33"] = -999.0
    data["y"] = rng.normal(size=200)
    posterior = robula.Posterior(rng.normal(size=(2, 50, 1)), np.ones(200), ("a",), settings={})
    html = robula.report(posterior, tmp_path / "r.html", data=data, response="y").read_text(encoding="utf-8")
    table = html[html.index("id='listed'") :]
    heads = re.findall(r"<button type='button'>(\w+)</button>", table)
    assert heads[:4] == ["row", "weight", "y", "c0"]
    assert "c33" in heads
    assert "12 of 41 columns are shown" in html
