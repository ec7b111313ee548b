"""Histories of transactions, and a checker that finds what an isolation level excludes (after Elle)."""
