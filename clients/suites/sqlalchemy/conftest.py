"""Loads the plugin that SQLAlchemy ships for dialects outside of its own tree."""

import pytest

pytest.register_assert_rewrite("sqlalchemy.testing.assertions")

from sqlalchemy.testing.plugin.pytestplugin import *  # noqa: E402, F403
