"""The client of the dlt destination: what dlt keeps at a destination beside the rows, and what it has removed there.

The tables are those of dlt's own destinations: `_dlt_pipeline_state`, `_dlt_version` and `_dlt_loads`.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Annotated, Any

from dlt.common.configuration import configspec
from dlt.common.configuration.exceptions import ConfigurationValueError
from dlt.common.configuration.specs.base_configuration import NotResolved
from dlt.common.destination.client import DestinationClientDwhConfiguration, StateInfo, StorageSchemaInfo, WithStateSync
from dlt.common.destination.exceptions import DestinationUndefinedEntity
from dlt.common.schema.utils import loads_table, normalize_table_identifiers, version_table
from dlt.common.storages.load_package import destination_state
from dlt.destinations.impl.destination.configuration import CustomDestinationClientConfiguration
from dlt.destinations.impl.destination.destination import DestinationClient
from dlt.destinations.job_impl import DestinationParquetLoadJob

from ._connection import Connection
from ._job import Address
from ._made_tables import make_schema, make_table
from ._partitions import quoted

_STATE_COLUMNS = ("version", "engine_version", "pipeline_name", "state", "created_at", "version_hash", "_dlt_load_id")
_SCHEMA_COLUMNS = ("version_hash", "schema_name", "version", "engine_version", "inserted_at", "schema")


@configspec
class DatasetConfiguration(CustomDestinationClientConfiguration, DestinationClientDwhConfiguration):
    """The settings of the destination. Without a name of the pipeline's dataset the destination's own schema takes the tables."""

    dataset_name: Annotated[str | None, NotResolved()] = field(  # type: ignore[assignment]
        default=None, init=False, repr=False, compare=False
    )


@dataclass(frozen=True)
class Target:
    """Where a destination loads to."""

    address: Address
    #: The schema that the destination names, if it names one.
    schema: str | None
    #: Loads a file into a table of a schema.
    load: Callable[[str, Mapping[str, Any], str], None] = field(compare=False)


class StateClient(DestinationClient, WithStateSync):
    """Loads files as the target says, and keeps the pipeline's state and schemas beside the tables."""

    target: Target

    def __init__(self, schema: Any, config: Any, capabilities: Any) -> None:
        super().__init__(schema, config, capabilities)
        own, dataset = self.target.schema, config.normalize_dataset_name(schema) if config.dataset_name else None
        if own and dataset and own != dataset:
            raise ConfigurationValueError(
                f"the pipeline has the dataset_name {dataset!r}, and the destination the schema {own!r}: say one"
            )
        self.dataset = dataset or own or "dbo"
        self.destination_callable = lambda file, table: self.target.load(str(file), table, self.dataset)

    def is_storage_initialized(self) -> bool:
        """Return whether the schema is there."""
        with self.target.address.connect() as db:
            return db.fetch("SELECT SCHEMA_ID(@schema)", {"schema": self.dataset})[0][0] is not None

    def initialize_storage(self, truncate_tables: Iterable[str] | None = None) -> None:
        """Make the schema; with tables, empty those that are there."""
        with self.target.address.connect() as db:
            make_schema(db, self.dataset)
            for name in truncate_tables or ():
                if self._is_there(db, name):
                    db.execute(f"TRUNCATE TABLE {self._table(name)}")

    def drop_storage(self) -> None:
        """Drop the tables of the pipeline's schema, and those of dlt."""
        self.drop_tables(*self.schema.tables)

    def drop_tables(self, *tables: str, delete_schema: bool = True) -> None:
        """Drop tables that are there, and forget the stored versions of the schema."""
        with self.target.address.connect() as db:
            for name in tables:
                db.execute(f"DROP TABLE IF EXISTS {self._table(name)}")
            if delete_schema and self._is_there(db, self.schema.version_table_name):
                versions = self._table(self.schema.version_table_name)
                db.execute(f"DELETE FROM {versions} WHERE schema_name = @name", {"name": self.schema.name})

    def should_truncate_table_before_load(self, table_name: str) -> bool:
        """Return False: the load of the first file takes the place of the rows, in one transaction."""
        return False

    def prepare_load_table(self, table_name: str) -> Any:
        """Return the table as dlt has it; that of the state keeps the columns that dlt adds."""
        if table_name == self.schema.state_table_name:
            return super(DestinationClient, self).prepare_load_table(table_name)
        return super().prepare_load_table(table_name)

    def create_load_job(self, table: Any, file_path: str, load_id: str, restore: bool = False) -> Any:
        """Return the job that loads a file; of dlt's own tables the state alone comes as one."""
        if table["name"] == self.schema.state_table_name:
            return DestinationParquetLoadJob(file_path, self.config, destination_state(), self.destination_callable)
        return super().create_load_job(table, file_path, load_id, restore)

    def update_stored_schema(self, only_tables: Any = None, expected_update: Any = None, force: bool = False) -> Any:
        """Keep this version of the schema, for pipelines whose working folder is new."""
        update = super().update_stored_schema(only_tables, expected_update, force)
        if self.get_stored_schema_by_hash(self.schema.stored_version_hash) is None:
            schema = self.schema
            row = (schema.version, schema.ENGINE_VERSION, datetime.now(timezone.utc), schema.name, schema.stored_version_hash)
            self._insert(version_table(), [*row, json.dumps(schema.to_dict())])
        return update

    def complete_load(self, load_id: str) -> None:
        """Note that a load package is done; the state that came with it counts from now on."""
        table = self._table(self.schema.loads_table_name)
        with self._existing(self.schema.loads_table_name) as db:
            if db is not None and db.fetch(f"SELECT COUNT(*) FROM {table} WHERE load_id = @load", {"load": load_id})[0][0]:
                return
        self._insert(loads_table(), [load_id, self.schema.name, 0, datetime.now(timezone.utc), self.schema.version_hash])

    def get_stored_state(self, pipeline_name: str) -> StateInfo | None:
        """Return the state that came with the last load which is done."""
        state, loads = self.schema.state_table_name, self.schema.loads_table_name
        with self._existing(state, loads) as db:
            if db is None:
                raise DestinationUndefinedEntity(f"{self._table(state)} or {self._table(loads)} does not exist")
            columns = ", ".join(f"s.{quoted(name)}" for name in _STATE_COLUMNS)
            found = db.fetch(
                f"SELECT TOP (1) {columns} FROM {self._table(state)} AS s "
                f"JOIN {self._table(loads)} AS l ON l.load_id = s._dlt_load_id "
                "WHERE s.pipeline_name = @pipeline AND l.status = 0 ORDER BY l.load_id DESC",
                {"pipeline": pipeline_name},
            )
        return StateInfo(*found[0]) if found else None

    def get_stored_schema(self, schema_name: str | None = None) -> StorageSchemaInfo | None:
        """Return the newest version of a schema, or of any."""
        condition = "WHERE schema_name = @wanted " if schema_name else ""
        return self._stored(f"{condition}ORDER BY inserted_at DESC", schema_name)

    def get_stored_schema_by_hash(self, version_hash: str) -> StorageSchemaInfo | None:  # type: ignore[override]
        """Return the version of a schema that has this hash."""
        return self._stored("WHERE version_hash = @wanted", version_hash)

    def _stored(self, condition: str, wanted: str | None) -> StorageSchemaInfo | None:
        with self._existing(self.schema.version_table_name) as db:
            if db is None:
                return None
            columns = ", ".join(quoted(name) for name in _SCHEMA_COLUMNS)
            table = self._table(self.schema.version_table_name)
            found = db.fetch(f"SELECT TOP (1) {columns} FROM {table} {condition}", {"wanted": wanted} if wanted else None)
        return StorageSchemaInfo(*found[0]) if found else None

    def _insert(self, table: Any, row: list[Any]) -> None:
        """Insert a row into a table of dlt's, which is made if it is missing."""
        table = normalize_table_identifiers(table, self.schema.naming)
        name, columns = self._table(table["name"]), table["columns"]
        with self.target.address.connect() as db:
            make_table(db, self.dataset, name, columns, ())
            places = ", ".join(f"@p{number}" for number in range(len(row)))
            values = {f"p{number}": value for number, value in enumerate(row)}
            db.execute(f"INSERT INTO {name} ({', '.join(quoted(column) for column in columns)}) VALUES ({places})", values)

    def _table(self, name: str) -> str:
        return f"{quoted(self.dataset)}.{quoted(name)}"

    def _is_there(self, db: Connection, name: str) -> bool:
        return db.fetch("SELECT OBJECT_ID(@table, 'U')", {"table": self._table(name)})[0][0] is not None

    @contextlib.contextmanager
    def _existing(self, *names: str) -> Iterator[Connection | None]:
        """Open a connection; None if one of the tables is not there."""
        with self.target.address.connect() as db:
            yield db if all(self._is_there(db, name) for name in names) else None
