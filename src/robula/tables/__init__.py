"""Files, frames and lists become checked arrays: one reader, one encoding."""
