CREATE TABLE t (a uniqueidentifier, b uniqueidentifier, c int NULL, d int NOT NULL); INSERT t VALUES ('00000000-0000-0000-0000-000000000001', NULL, 5, 6)
----

ALTER TABLE t ALTER COLUMN a ADD ROWGUIDCOL; SELECT $ROWGUID FROM t
----
00000000-0000-0000-0000-000000000001

ALTER TABLE t ALTER COLUMN b ADD ROWGUIDCOL
----
error 8196: Duplicate column specified as ROWGUIDCOL.

ALTER TABLE t ALTER COLUMN b DROP ROWGUIDCOL
----
error 4926: ALTER TABLE ALTER COLUMN DROP ROWGUIDCOL failed because a column does not exist in table 't' with ROWGUIDCOL property.

ALTER TABLE t ALTER COLUMN a DROP ROWGUIDCOL; ALTER TABLE t ALTER COLUMN b ADD ROWGUIDCOL; SELECT name FROM sys.columns WHERE object_id = OBJECT_ID('t') AND is_rowguidcol = 1
----
b

ALTER TABLE t ALTER COLUMN c ADD ROWGUIDCOL
----
error 40515: ROWGUIDCOL of another type than uniqueidentifier is not supported by this server.

ALTER TABLE t ALTER COLUMN x ADD SPARSE
----
error 4924: ALTER TABLE ALTER COLUMN failed because column 'x' does not exist in table 't'.

ALTER TABLE t ALTER COLUMN c ADD SPARSE; SELECT name FROM sys.columns WHERE object_id = OBJECT_ID('t') AND is_sparse = 1
----
c

ALTER TABLE t ALTER COLUMN d ADD SPARSE
----
error 1731: Cannot create the sparse column 'd' in the table 't' because an option or data type specified is not valid. A sparse column must be nullable and cannot have the ROWGUIDCOL, IDENTITY, or FILESTREAM properties. A sparse column cannot be of the following data types: text, ntext, image, geometry, geography, or user-defined type.

ALTER TABLE t ALTER COLUMN c DROP SPARSE; SELECT COUNT(*) FROM sys.columns WHERE object_id = OBJECT_ID('t') AND is_sparse = 1; SELECT * FROM t
----
0
00000000-0000-0000-0000-000000000001 | NULL | 5 | 6

ALTER TABLE t ALTER COLUMN c ADD HIDDEN
----
error 40515: ALTER COLUMN … ADD or DROP HIDDEN is not supported by this server.
