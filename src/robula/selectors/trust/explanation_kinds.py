"""The kinds of explanations that compete, in the words a user reads; code compares the kinds and not the words."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """What an explanation says is the matter with the rows.

    The values are shown to users and stored with posteriors (``settings["rows_found"]["explanations"]``).
    """

    #: What the others are compared with.
    NOTHING = "nothing is wrong"
    #: Rows that follow nothing; what says how the law is off where no other is followed.
    GROSS = "gross rows"
    SHIFTED = "shifted rows"
    #: The same where nothing was paid for them, because the others follow the declared law itself.
    SHIFTED_ALONE = "shifted rows, the others as declared"
    ONE_POPULATION = "a bad population"
    TWO_POPULATIONS = "two bad populations"
    #: An explanation that needs more bad rows than the budget allows, kept beside one that does not.
    TOO_MANY = "more bad rows than allowed"
    #: A group of vector rows around a point of its own.
    GROUP = "a bad group"
    #: No label is wrong, and the log odds bend where the model's do not.
    BENT = "log odds that bend"
    FLIPPED = "flipped labels"
    FLIPPED_BY_ROW = "flipped labels that depend on the row"
    #: The same where the log odds bend besides.
    FLIPPED_AND_BENT = "flipped labels, log odds that bend"
    FLIPPED_BY_ROW_AND_BENT = "flipped labels that depend on the row, log odds that bend"
