"""Speed of robust sampling against plain sampling and against NUTS: ``make bench``."""
