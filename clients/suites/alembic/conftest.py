"""Loads the plugin that Alembic's suite runs under: SQLAlchemy's."""

import pytest

pytest.register_assert_rewrite("sqlalchemy.testing.assertions")
pytest.register_assert_rewrite("alembic.testing.assertions")

from sqlalchemy.testing.plugin.pytestplugin import *  # noqa: E402, F403
