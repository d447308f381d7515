"""The REST admin API: edits the rules in the store, asks the coordinator, answers people; stateless but for caches."""
