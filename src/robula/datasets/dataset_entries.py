"""Names, files, checksums, licences and traps of the data sets."""

from __future__ import annotations

from dataclasses import dataclass

#: The LIBSVM data page's folder of binary classification sets.
SOURCE = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/"


@dataclass(frozen=True)
class Entry:
    """One data set.

    Attributes
    ----------
    files : tuple of (str, str)
        File name and SHA-256; several files are stacked in this order.
    rows, features : int
        After loading.
    positive : float
        The label in the file that becomes 1.
    meaning : str
        What label 1 means.
    dropped : tuple of int
        Columns that are not measurements.
    """

    title: str
    files: tuple[tuple[str, str], ...]
    rows: int
    features: int
    positive: float
    meaning: str
    citation: str
    licence: str
    dropped: tuple[int, ...] = ()


ENTRIES: dict[str, Entry] = {
    "astro": Entry(
        title="Astroparticle (svmguide1, train and test files together)",
        files=(
            ("svmguide1", "2b9ab55b6236f62cee6b7739b52f9e7cb033771f39b9c22c1f1790d80ef14d7f"),
            ("svmguide1.t", "f9c2fd4c725172aeb4476fc1e2327d537f7fbc2f53f49dfd073f80efbe1ba8f7"),
        ),
        rows=7089,
        features=4,
        positive=1.0,
        meaning="label 1 of the file",
        citation="Hsu, Chang, Lin (2003), A Practical Guide to Support Vector Classification",
        licence="none found",
    ),
    "phishing": Entry(
        title="Phishing Websites",
        files=(("phishing", "0cf66ef36604c393da9359b2e5d894a2df8aee31fd184633cefa138add2ef08a"),),
        rows=11055,
        features=68,
        positive=1.0,
        meaning="UCI Result 1",
        citation="Mohammad, McCluskey (2012), Phishing Websites, UCI, doi:10.24432/C51W2X",
        licence="CC BY 4.0",
    ),
    "breast-cancer": Entry(
        title="Wisconsin Breast Cancer (original)",
        files=(("breast-cancer", "445505b580a88e9e19b533b4f126d3dda1883bc7551e46907041ca263aa3c5d9"),),
        rows=683,
        features=9,
        positive=4.0,
        meaning="malignant",
        citation="Wolberg (1990), Breast Cancer Wisconsin (Original), UCI, doi:10.24432/C5HP4Z",
        licence="CC BY 4.0",
        dropped=(0,),  # the sample's identification number
    ),
    "diabetes": Entry(
        title="Pima Indians Diabetes",
        files=(("diabetes", "419ba20be4862fc53a6fe92e55a84a53ae0075df06632c07592a17d619b5cb23"),),
        rows=768,
        features=8,
        positive=-1.0,  # the file codes "no diabetes" as +1
        meaning="diabetic",
        citation="Smith, Everhart, Dickson, Knowler, Johannes (1988), ADAP, Proc. SCAMC 261-265",
        licence="none found",
    ),
    "german": Entry(
        title="Statlog German Credit, numeric form",
        files=(("german.numer", "49cd2d01c2b2908a84db1f1c94e3ec04f772db3a91560af1225edf739f003194"),),
        rows=1000,
        features=24,
        positive=1.0,
        meaning="bad credit",
        citation="Hofmann (1994), Statlog (German Credit Data), UCI, doi:10.24432/C5NC77",
        licence="CC BY 4.0",
    ),
}

#: Comes with scikit-learn, for places with neither the network nor a local copy.
BUILT_IN = "wisconsin"


def names() -> list[str]:
    """Return the names that :func:`robula.datasets.load` takes."""
    return [*ENTRIES, BUILT_IN]
