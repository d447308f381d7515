"""What the API decides, without I/O: roles, limits, edits of rules, views for people. Handed the time."""
