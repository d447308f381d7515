"""Decides: what is asked and known of jobs, what trees say of it, how far that may be off, when they are not asked."""
