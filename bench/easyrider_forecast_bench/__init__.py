"""Forecasters side by side: recorded and synthetic loads, the same origins for everybody, pooled scores."""
