"""Every method against every contamination, beside the exact clean posterior (docs/leaderboard.md)."""
