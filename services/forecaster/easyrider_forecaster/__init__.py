"""The forecaster: what every job and power domain will draw in the next seconds, and how sure that is."""
