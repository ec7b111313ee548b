"""The race: other people's clients and bulkwire move one table, turn by turn (docs/clients-benchmark.md)."""
