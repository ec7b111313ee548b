"""A tour of the Python package, against its own embedded server. The tests run it; every assert is checked.

It uses Polars for the data; pyarrow, pandas and DuckDB work alike.
"""

import datetime as dt
import sys

import bulkwire
import polars as pl

# The embedded server, in memory, in this process. Elsewhere: bulkwire.connect("mssql://user@host/database").
server = bulkwire.Server()
db = server.connect()

# 1. Load a data frame. The table is created from its columns; the report says what was done.
orders = pl.DataFrame(
    {
        "id": range(1, 100_001),
        "customer": [f"customer {number % 1000}" for number in range(1, 100_001)],
        "day": [dt.date(2024, 1, 1) + dt.timedelta(days=number % 366) for number in range(1, 100_001)],
    }
)
report = db.load("dbo.orders", orders, create=True, types={"customer": "nvarchar(50)"})
print(report)
assert report.rows == 100_000
for setting, value, reason in report.plan:
    print(f"  {setting}: {value} ({reason})")

# 2. Read it back, as a stream of Arrow record batches or whole.
leap_day = db.read("SELECT id, customer FROM dbo.orders WHERE day = @day ORDER BY id", {"day": dt.date(2024, 2, 29)})
frame = leap_day.to_polars()
assert frame.height == orders.filter(pl.col("day") == dt.date(2024, 2, 29)).height
rows = 0
with db.read("SELECT * FROM dbo.orders", batch_rows=10_000) as reader:
    for batch in reader:
        rows += batch.num_rows
assert rows == 100_000

# 3. Values that do not fit are named, and nothing of their batch stays.
try:
    db.load("dbo.orders", pl.DataFrame({"id": [1], "customer": ["x" * 51], "day": [dt.date(2024, 1, 1)]}))
except bulkwire.CellError as error:
    print(f"refused: row {error.row}, column {error.column}: {error.reason}")
else:
    sys.exit("a value of 51 characters went into nvarchar(50)")

# 4. Change rows by key: new ones are inserted, the others updated, all in one transaction.
changes = pl.DataFrame({"id": [100_000, 100_001], "customer": ["renamed", "new"]})
done = db.upsert("dbo.orders", changes, keys=["id"])
assert (done.inserted, done.updated) == (1, 1)

# 5. Several steps in one transaction.
with db.transaction():
    db.execute("DELETE FROM dbo.orders WHERE id > @p1", [100_000])
    db.load("dbo.orders", orders.tail(1).with_columns(id=pl.lit(200_000, pl.Int64)))
assert db.fetch("SELECT COUNT(*), MAX(id) FROM dbo.orders") == [(100_001, 200_000)]

# 6. Errors of the server carry its number.
try:
    db.execute("SELECT * FROM dbo.nowhere")
except bulkwire.ServerError as error:
    assert error.number == 208
    print(error)

db.close()
server.stop()
