"""The named halls in which controllers are compared, all synthetic but the replayed recordings."""
