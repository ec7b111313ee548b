"""SQLAlchemy over pymssql and over pyodbc: Core, ORM, reflection, its pool."""

from __future__ import annotations

import datetime
import decimal
import uuid

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from sqlalchemy_engines import DRIVERS, engine

GUID = uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")


class Base(orm.DeclarativeBase):
    """The mapped classes of the tests."""


class Author(Base):
    """One author has many books."""

    __tablename__ = "author"
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    name: orm.Mapped[str] = orm.mapped_column(sa.Unicode(50), unique=True)
    born: orm.Mapped[datetime.date | None]
    books: orm.Mapped[list[Book]] = orm.relationship(back_populates="author", cascade="all, delete-orphan")


class Book(Base):
    """A book of an author."""

    __tablename__ = "book"
    __table_args__ = (
        sa.Index("ix_book_title", "title"),
        sa.CheckConstraint("pages > 0", name="ck_book_pages"),
    )
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    author_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("author.id", name="fk_book_author"))
    title: orm.Mapped[str] = orm.mapped_column(sa.Unicode(100))
    pages: orm.Mapped[int | None]
    price: orm.Mapped[decimal.Decimal | None] = orm.mapped_column(sa.Numeric(9, 2))
    printed: orm.Mapped[datetime.datetime | None]
    author: orm.Mapped[Author] = orm.relationship(back_populates="books")


@pytest.fixture(scope="module", params=DRIVERS)
def database(server, request):
    """An engine on a database of its own, with the mapped tables."""
    name = f"sqlalchemy_{request.param}"
    master = engine(server, request.param, isolation_level="AUTOCOMMIT")
    with master.connect() as connection:
        connection.execute(sa.text(f"DROP DATABASE IF EXISTS {name}"))
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
    master.dispose()
    made = engine(server, request.param, name)
    Base.metadata.create_all(made)
    yield made
    made.dispose()


@pytest.fixture
def empty(database):
    """The engine, with empty tables."""
    with database.begin() as connection:
        connection.execute(sa.delete(Book))
        connection.execute(sa.delete(Author))
    return database


def test_the_dialect_finds_version_and_schema(database):
    with database.connect():
        assert database.dialect.server_version_info[0] == 16
        assert database.dialect.default_schema_name == "dbo"
        assert database.dialect._supports_offset_fetch


def test_core_of_every_type(database):
    table = sa.Table(
        "every_type",
        sa.MetaData(),
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("flag", sa.Boolean),
        sa.Column("small", sa.SmallInteger),
        sa.Column("big", sa.BigInteger),
        sa.Column("ratio", sa.Float(53)),
        sa.Column("amount", sa.Numeric(38, 10)),
        sa.Column("day", sa.Date),
        sa.Column("moment", sa.dialects.mssql.DATETIME2(6)),
        sa.Column("code", sa.String(20)),
        sa.Column("name", sa.Unicode(40)),
        sa.Column("long", sa.UnicodeText),
        sa.Column("raw", sa.LargeBinary),
        sa.Column("key", sa.Uuid),
    )
    row = (
        True,
        -32768,
        2**63 - 1,
        1.7976931348623157e308,
        decimal.Decimal("1234567890123456789012345678.0123456789"),
        datetime.date(2024, 2, 29),
        datetime.datetime(9999, 12, 31, 23, 59, 59, 999000),
        "déjà vu",
        "Ελληνικά 日本語",
        "🚀" * 5000,
        b"\0\xff" * 5000,
        GUID,
    )
    table.create(database)
    with database.begin() as connection:
        connection.execute(table.insert().values((1, *row)))
        connection.execute(table.insert().values((2, *[None] * len(row))))
        found = connection.execute(sa.select(table).order_by(table.c.id)).all()
    assert [tuple(r) for r in found] == [(1, *row), (2, *[None] * len(row))]


def test_insert_many_returns_keys_in_order(empty):
    table = Author.__table__
    names = [f"name {number}" for number in range(250)]
    with empty.begin() as connection:
        statement = sa.insert(table).returning(table.c.id, table.c.name, sort_by_parameter_order=True)
        returned = connection.execute(statement, [{"name": name} for name in names]).all()
        assert [row.name for row in returned] == names
        assert len({row.id for row in returned}) == 250


def test_limit_offset_and_aggregates(empty):
    table = Author.__table__
    with empty.begin() as connection:
        connection.execute(sa.insert(table), [{"name": f"n{number:03}"} for number in range(30)])
        page = connection.scalars(sa.select(table.c.name).order_by(table.c.name).limit(3).offset(10)).all()
        assert page == ["n010", "n011", "n012"]
        rank = sa.func.row_number().over(order_by=table.c.name.desc())
        top = connection.execute(sa.select(table.c.name, rank).order_by(rank).limit(1)).one()
        assert tuple(top) == ("n029", 1)
        assert connection.scalar(sa.select(sa.func.count()).where(table.c.name.like("n00%"))) == 10


def test_orm_round_trip(empty):
    with orm.Session(empty) as session:
        moment = datetime.datetime(2024, 2, 29, 12, 34, 56, 790000)
        books = [
            Book(title="Πρώτο", pages=100, price=decimal.Decimal("9.50"), printed=moment),
            Book(title="Second"),
        ]
        session.add(Author(name="Åsa", born=datetime.date(1984, 2, 29), books=books))
        session.commit()
        author = session.scalars(sa.select(Author).where(Author.name == "Åsa")).one()
        assert [book.title for book in author.books] == ["Πρώτο", "Second"]
        first = author.books[0]
        assert (first.price, first.printed) == (decimal.Decimal("9.50"), moment)
        first.pages += 1
        author.books.remove(author.books[1])
        session.commit()
    with orm.Session(empty) as session:
        joined = sa.select(Author.name, Book.title, Book.pages).join(Book)
        assert [tuple(row) for row in session.execute(joined)] == [("Åsa", "Πρώτο", 101)]
        session.delete(session.scalars(sa.select(Author)).one())
        session.commit()
        assert session.scalar(sa.select(sa.func.count(Book.id))) == 0


def test_a_session_rolls_back(empty):
    with orm.Session(empty) as session:
        session.add(Author(name="kept"))
        session.commit()
        session.add(Author(name="gone"))
        session.flush()
        session.rollback()
        with session.begin_nested():
            session.add(Author(name="nested"))
        session.commit()
        assert session.scalars(sa.select(Author.name).order_by(Author.name)).all() == ["kept", "nested"]


def test_errors_are_sqlalchemy_s(empty):
    with orm.Session(empty) as session:
        session.add_all([Author(name="twice"), Author(name="twice")])
        with pytest.raises(sa.exc.IntegrityError, match="2627"):
            session.commit()
    with empty.connect() as connection, pytest.raises(sa.exc.ProgrammingError, match="no_such_table"):
        connection.execute(sa.text("SELECT * FROM no_such_table"))


def test_reflection_of_tables_and_columns(database):
    inspector = sa.inspect(database)
    assert {"author", "book"} <= set(inspector.get_table_names())
    assert "dbo" in inspector.get_schema_names()
    assert inspector.has_table("book") and not inspector.has_table("no_such_table")
    columns = {column["name"]: column for column in inspector.get_columns("book")}
    assert list(columns) == ["id", "author_id", "title", "pages", "price", "printed"]
    assert columns["id"]["autoincrement"] and not columns["id"]["nullable"]
    assert str(columns["title"]["type"]).startswith("NVARCHAR(100)")
    assert str(columns["price"]["type"]) == "NUMERIC(9, 2)"


def test_reflection_of_keys_and_indexes(database):
    inspector = sa.inspect(database)
    assert inspector.get_pk_constraint("book")["constrained_columns"] == ["id"]
    foreign = inspector.get_foreign_keys("book")
    assert [(key["name"], key["constrained_columns"], key["referred_table"]) for key in foreign] == [
        ("fk_book_author", ["author_id"], "author")
    ]
    indexes = {index["name"]: index for index in inspector.get_indexes("book")}
    assert indexes["ix_book_title"]["column_names"] == ["title"] and not indexes["ix_book_title"]["unique"]
    assert [index["column_names"] for index in inspector.get_indexes("author") if index["unique"]] == [
        ["name"]
    ]


def test_comments_are_kept_reflected_and_dropped(database):
    """Comments are extended properties, which go with their tables and columns."""
    metadata = sa.MetaData()
    table = sa.Table(
        "noted",
        metadata,
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("said", sa.Unicode(20), comment="what was said; it's quoted"),
        comment="notes \u2192 of all kinds",
    )
    metadata.create_all(database)
    inspector = sa.inspect(database)
    assert inspector.get_table_comment("noted") == {"text": "notes \u2192 of all kinds"}
    comments = {column["name"]: column["comment"] for column in inspector.get_columns("noted")}
    assert comments == {"id": None, "said": "what was said; it's quoted"}
    with database.begin() as connection:
        connection.execute(sa.schema.DropTableComment(table))
        connection.execute(sa.schema.DropColumnComment(table.c.said))
    inspector = sa.inspect(database)
    assert inspector.get_table_comment("noted") == {"text": None}
    assert [column["comment"] for column in inspector.get_columns("noted")] == [None, None]
    metadata.drop_all(database)


def test_views_and_sequences_are_reflected(database):
    metadata = sa.MetaData()
    sa.Sequence("numbers", start=7, metadata=metadata)
    metadata.create_all(database)
    with database.begin() as connection:
        connection.exec_driver_sql("CREATE VIEW titles AS SELECT id, title FROM book")
        assert connection.scalar(sa.Sequence("numbers")) == 7
    inspector = sa.inspect(database)
    assert inspector.get_view_names() == ["titles"]
    assert [column["name"] for column in inspector.get_columns("titles")] == ["id", "title"]
    assert "SELECT id, title" in inspector.get_view_definition("titles")
    assert inspector.get_sequence_names() == ["numbers"] and inspector.has_sequence("numbers")
    with database.begin() as connection:
        connection.exec_driver_sql("DROP VIEW titles")
    metadata.drop_all(database)
    assert sa.inspect(database).get_sequence_names() == []


def test_reflected_tables_make_the_same_query(empty):
    with empty.begin() as connection:
        connection.execute(sa.insert(Author.__table__).values(name="reflected"))
    reflected = sa.MetaData()
    reflected.reflect(empty, only=["author", "book"])
    author, book = reflected.tables["author"], reflected.tables["book"]
    assert [key.column.table.name for key in book.foreign_keys] == ["author"]
    with empty.connect() as connection:
        assert connection.scalars(sa.select(author.c.name)).all() == ["reflected"]


def test_temporary_tables_are_seen(database):
    with database.connect() as connection:
        connection.exec_driver_sql("CREATE TABLE #seen (n int)")
        inspector = sa.inspect(connection)
        assert inspector.has_table("#seen")
        assert [column["name"] for column in inspector.get_columns("#seen")] == ["n"]


def test_isolation_levels(database):
    with database.connect() as connection:
        assert connection.get_isolation_level() == "READ COMMITTED"
    serializable = database.execution_options(isolation_level="SERIALIZABLE")
    with serializable.connect() as connection:
        assert connection.get_isolation_level() == "SERIALIZABLE"
        assert connection.scalar(sa.text("SELECT 1")) == 1
    with database.connect() as connection:
        assert connection.get_isolation_level() == "READ COMMITTED"


def test_the_pool_resets_as_sqlalchemy_documents(server, database):
    """The `reset` event of SQLAlchemy's documentation, which calls sp_reset_connection."""
    driver = database.dialect.driver
    pooled = engine(server, driver, pool_size=1, max_overflow=0, pool_reset_on_return=None)
    call = "{call sys.sp_reset_connection}" if driver == "pyodbc" else "EXEC sp_reset_connection"

    @sa.event.listens_for(pooled, "reset")
    def reset(connection, _record, state):
        if not state.terminate_only:
            connection.cursor().execute(call)
        connection.rollback()

    with pooled.connect() as connection:
        spid = connection.scalar(sa.text("SELECT @@SPID"))
        connection.exec_driver_sql("CREATE TABLE #pooled (n int)")
        connection.exec_driver_sql("SET LOCK_TIMEOUT 1234")
        connection.commit()
    with pooled.connect() as connection:
        found = connection.execute(
            sa.text("SELECT @@SPID, @@LOCK_TIMEOUT, OBJECT_ID('tempdb..#pooled')")
        ).one()
        assert tuple(found) == (spid, -1, None)
    pooled.dispose()


def test_a_returned_connection_is_rolled_back(empty):
    with empty.connect() as connection:
        connection.execute(sa.insert(Author.__table__).values(name="never committed"))
    with empty.connect() as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(Author)) == 0
