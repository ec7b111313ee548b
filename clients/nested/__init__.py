"""Nested statements by chance, and what other engines say of them."""
