"""Alembic's suite, as its wheel holds it."""

from alembic.testing.suite import *  # noqa: F403
