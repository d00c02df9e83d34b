"""Last stage: a result as a page for people."""
