"""Last stage: what a finished run says about itself, in words, numbers and a page for people."""
