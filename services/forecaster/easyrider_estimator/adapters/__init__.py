"""Touches the world: the library that grows trees, files of models and of fingerprints."""
