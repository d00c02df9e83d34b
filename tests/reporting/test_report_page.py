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
from robula.models.posterior_mode import laplace
from robula.reporting.findings import odd_columns
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
    order = ["are distrusted", "The answer", "Distrusted rows", "Posterior and traces", "another share",
             "Can the numbers be trusted?", "How it was made", "How to cite"]  # fmt: skip
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
    posterior = robula.sample(model, contamination=0.0, draws=50, selector="mean")
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
    found = odd_columns(
        frame, {"error of y": np.where(np.arange(100) == 7, 9.0, 0.0)}, np.ones(100, bool), np.array([3, 7])
    )
    assert [reason.column for reason in found[3]] == ["b"]
    assert [reason.column for reason in found[7]] == ["d", "a", "error of y"]


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
    headings = browser.execute_script("return [...document.querySelectorAll('#rows thead th')].map(h => h.textContent)")
    assert headings[:3] == ["row", "weight", "what is odd"]
    assert NASTY in headings
    press = "document.querySelectorAll('#rows thead button')[arguments[0]].click()"
    read = (
        "return [...document.querySelectorAll('#rows tbody tr')].map(r => Number(r.cells[arguments[0]].dataset.value))"
    )
    column = headings.index("age")
    browser.execute_script(press, column)
    ascending = browser.execute_script(read, column)
    assert ascending == sorted(ascending)
    assert len(ascending) > 10
    browser.execute_script(press, column)
    assert browser.execute_script(read, column) == sorted(ascending, reverse=True)
    sort = "return document.querySelectorAll('#rows thead th')[arguments[0]].getAttribute('aria-sort')"
    assert browser.execute_script(sort, column) == "descending"
    text = headings.index("site")
    browser.execute_script(press, text)
    cells = browser.execute_script(
        "return [...document.querySelectorAll('#rows tbody tr')].map(r => r.cells[arguments[0]].textContent)", text
    )
    assert cells in (sorted(cells), sorted(cells, reverse=True))
    assert browser.get_log("browser") == []
