"""The contestants written in Python, or driven from it; docs/clients-benchmark.md describes them."""
