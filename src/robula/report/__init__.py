"""Last stage: what a finished run says about itself, in words and numbers."""
