"""The contestants written in Python, or driven from it; each is a program with the arguments of docs/clients-benchmark.md."""
