"""SQLAlchemy's dialect compliance suite, as its wheel holds it."""

from sqlalchemy.testing.suite import *  # noqa: F403
