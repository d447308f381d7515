"""What an `ok` cell of a frame says about the reading beside it."""

VALID = 0
MISSING = 1
OUT_OF_RANGE = 2
BLANK = 3
STUCK = 4
WORDS = ("valid", "missing", "out_of_range", "blank", "stuck")
"""The same for people, in order."""
