"""Figures as rows, a table, pictures and verdicts."""
