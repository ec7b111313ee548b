CREATE TABLE p (id int PRIMARY KEY, code varchar(10) UNIQUE, qty int CONSTRAINT positive CHECK (qty > 0))
----

INSERT p VALUES (1, 'a', 5)
----
affected 1

INSERT p VALUES (1, 'b', 5)
----
error 2627

CREATE TABLE q (id int CONSTRAINT pk_q PRIMARY KEY, code varchar(10) CONSTRAINT uq_q UNIQUE, qty int CONSTRAINT positive_q CHECK (qty > 0))
----

INSERT q VALUES (1, 'a', 5), (2, 'b', NULL)
----
affected 2

INSERT q VALUES (1, 'c', 5)
----
error 2627: Violation of PRIMARY KEY constraint 'pk_q'. Cannot insert duplicate key in object 'dbo.q'. The duplicate key value is (1).

INSERT q VALUES (3, 'A ', 5)
----
error 2627: Violation of UNIQUE KEY constraint 'uq_q'. Cannot insert duplicate key in object 'dbo.q'. The duplicate key value is (A ).

INSERT q VALUES (3, 'd', 0)
----
error 547: The INSERT statement conflicted with the CHECK constraint "positive_q". The conflict occurred in database "master", table "dbo.q", column 'qty'.

UPDATE q SET qty = -1 WHERE id = 1
----
error 547: The UPDATE statement conflicted with the CHECK constraint "positive_q". The conflict occurred in database "master", table "dbo.q", column 'qty'.

UPDATE q SET id = id + 1
----
affected 2

UPDATE q SET id = 9
----
error 2627: Violation of PRIMARY KEY constraint 'pk_q'. Cannot insert duplicate key in object 'dbo.q'. The duplicate key value is (9).

SELECT id FROM q ORDER BY id
----
2
3

INSERT q VALUES (4, 'x', 1), (4, 'y', 1)
----
error 2627

SELECT COUNT(*) FROM q
----
2

INSERT q VALUES (NULL, 'n', 1)
----
error 515: Cannot insert the value NULL into column 'id', table 'master.dbo.q'; column does not allow nulls. INSERT fails.

INSERT q VALUES (10, NULL, 1)
----
affected 1

INSERT q VALUES (11, NULL, 1)
----
error 2627: Violation of UNIQUE KEY constraint 'uq_q'. Cannot insert duplicate key in object 'dbo.q'. The duplicate key value is (<NULL>).

DELETE q WHERE id = 10; INSERT q VALUES (11, NULL, 1)
----
affected 1
affected 1

CREATE UNIQUE INDEX ux_qty ON q (qty)
----

INSERT q VALUES (20, 'u', 5)
----
error 2601: Cannot insert duplicate key row in object 'dbo.q' with unique index 'ux_qty'. The duplicate key value is (5).

CREATE TABLE dup (a int); INSERT dup VALUES (1), (1)
----

CREATE UNIQUE INDEX ux ON dup (a)
----
error 1505: The CREATE UNIQUE INDEX statement terminated because a duplicate key was found for the object name 'dbo.dup' and the index name 'ux'. The duplicate key value is (1).

ALTER TABLE dup ADD CONSTRAINT small CHECK (a < 1)
----
error 547: The ALTER TABLE statement conflicted with the CHECK constraint "small". The conflict occurred in database "master", table "dbo.dup", column 'a'.

CREATE TABLE two (a int NOT NULL, b varchar(5) NOT NULL, CONSTRAINT pk_two PRIMARY KEY NONCLUSTERED (a, b DESC))
----

INSERT two VALUES (1, 'x'), (1, 'y'), (2, 'x')
----
affected 3

INSERT two VALUES (1, 'Y')
----
error 2627: Violation of PRIMARY KEY constraint 'pk_two'. Cannot insert duplicate key in object 'dbo.two'. The duplicate key value is (1, Y).

CREATE TABLE n (a int NULL PRIMARY KEY)
----
error 8111: Cannot define PRIMARY KEY constraint on nullable column in table 'n'.
error 1750: Could not create constraint or index. See previous errors.

CREATE TABLE n (a int PRIMARY KEY, b int PRIMARY KEY)
----
error 8110: Cannot add multiple PRIMARY KEY constraints to table 'n'.

CREATE TABLE n (a int, b int CHECK (nosuch > 1))
----
error 207: Invalid column name 'nosuch'.

ALTER TABLE two DROP CONSTRAINT pk_two; INSERT two VALUES (1, 'x'); SELECT COUNT(*) FROM two
----
4

ALTER TABLE two DROP CONSTRAINT nosuch
----
error 3728: 'nosuch' is not a constraint.
error 3727: Could not drop constraint. See previous errors.

TRUNCATE TABLE q; INSERT q VALUES (2, 'b', 5); SELECT COUNT(*) FROM q
----
1

CREATE TABLE d (a int, b datetime2 DEFAULT '2024-01-01', c varchar(10) CONSTRAINT df_c DEFAULT ('x' + 'y'), g uniqueidentifier DEFAULT NEWID())
----

INSERT d (a) VALUES (1), (2); SELECT a, b, c FROM d; SELECT COUNT(DISTINCT g) FROM d
----
1 | 2024-01-01 00:00:00.0000000 | xy
2 | 2024-01-01 00:00:00.0000000 | xy
2
