"""Controllers that keep a hall within its limits, each on the same contract."""
