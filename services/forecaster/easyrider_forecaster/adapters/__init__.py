"""What the forecaster touches of the world: clocks, and a process for fits."""
