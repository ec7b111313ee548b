-- What an index entry cannot hold is refused: by its type or its fixed length at once, by its length when a row has it.
CREATE TABLE t (a varchar(max) PRIMARY KEY)
----
error 1919: Column 'a' in table 't' is of a type that is invalid for use as a key column in an index.

CREATE TABLE t (a sql_variant UNIQUE)
----
error 1919: Column 'a' in table 't' is of a type that is invalid for use as a key column in an index.

CREATE TABLE t (a char(901) NOT NULL PRIMARY KEY)
----
error 1944

CREATE TABLE t (a char(901) NOT NULL CONSTRAINT u UNIQUE, h hierarchyid NULL, m varchar(max) NULL)
INSERT t (a) VALUES ('x')
INSERT t (a) VALUES ('X ')
----
error 2627

CREATE CLUSTERED INDEX cx ON t (a)
----
error 1944: Index 'cx' was not created. This index has a key length of at least 901 bytes. The maximum permissible key length is 900 bytes.

CREATE INDEX ih ON t (h)
----

CREATE UNIQUE INDEX im ON t (a) WHERE m = 'large'
----
error 10735: Incorrect WHERE clause for filtered index 'im' on table 't'.

CREATE TABLE wide (id int NOT NULL, n nvarchar(1000) NOT NULL CONSTRAINT pk PRIMARY KEY CLUSTERED, v varchar(4000) NULL)
INSERT wide VALUES (1, REPLICATE(N'k', 450), NULL), (2, N'short', REPLICATE('v', 1700))
INSERT wide VALUES (3, REPLICATE(N'k', 451), NULL)
----
error 1946: Operation failed. The index entry of length 902 bytes for the index 'pk' exceeds the maximum length of 900 bytes for clustered indexes.

INSERT wide VALUES (3, REPLICATE(N'K', 450), NULL)
----
error 2627

UPDATE wide SET n = REPLICATE(N'k', 500) WHERE id = 2
----
error 1946

CREATE UNIQUE INDEX uv ON wide (v, id)
----
error 1946: Operation failed. The index entry of length 1704 bytes for the index 'uv' exceeds the maximum length of 1700 bytes for nonclustered indexes.

CREATE UNIQUE INDEX uv ON wide (v)
UPDATE wide SET v = REPLICATE('v', 1701) WHERE id = 1
----
error 1946

UPDATE wide SET v = REPLICATE('v', 1700) WHERE id = 1
----
error 2601

SELECT id FROM wide WHERE n = N'SHORT'
SELECT id FROM wide WHERE v = REPLICATE('v', 1700)
SELECT id FROM wide ORDER BY n
----
2
2
1
2

-- Rows that name a key that is declared wide find it.
CREATE TABLE child (n nvarchar(1000) NOT NULL REFERENCES wide (n) ON DELETE CASCADE)
INSERT child VALUES (N'short')
INSERT child VALUES (N'none')
----
error 547

DELETE wide WHERE id = 2
SELECT COUNT(*) FROM child
----
0

DECLARE @t TABLE (a varchar(2000) PRIMARY KEY)
INSERT @t VALUES (REPLICATE('x', 900))
INSERT @t VALUES (REPLICATE('x', 901))
----
error 1946

-- Of rows whose keys are there already the first stays, also where a filter says which rows count.
CREATE TABLE many (a int NULL, b int NULL)
CREATE UNIQUE INDEX ux ON many (a) WHERE b = 1 WITH (IGNORE_DUP_KEY = ON)
INSERT many VALUES (1, 1), (1, 2), (1, 1)
INSERT many VALUES (1, 1), (2, 1)
SELECT a, b FROM many ORDER BY a, b
----
info: Duplicate key was ignored.
info: Duplicate key was ignored.
1 | 1
1 | 2
2 | 1
