"""Vocabulary and plumbing that every EasyRider service shares; no decision is made here."""

__version__ = "0.1.0"
