"""The race: other people's clients and bulkwire move the same table, turn by turn. docs/clients-benchmark.md explains it."""
