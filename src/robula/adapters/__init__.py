"""Foreign models turned into robula's Model."""
