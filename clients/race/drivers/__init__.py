"""The contestants written in Python, or driven from it; clients/race/README.md describes them."""
