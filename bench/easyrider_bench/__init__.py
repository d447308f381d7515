"""A simulated hall in virtual time in which controllers of power are run side by side and judged."""
