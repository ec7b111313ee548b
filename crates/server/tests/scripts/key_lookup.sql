CREATE TABLE k (id int NOT NULL PRIMARY KEY, Name varchar(20) COLLATE Latin1_General_CS_AS NULL, amount decimal(9, 2) NULL, at date NULL, twice AS id * 2)
INSERT k (id, Name, amount, at) VALUES (1, 'one', 1.5, '2024-01-31'), (2, 'two', NULL, NULL), (-3, N'three', 3, '2024-03-01')
----

SELECT id, NAME, amount FROM k WHERE id = 2
----
[id int, NAME varchar(20) null, amount decimal(9, 2) null]
2 | two | NULL

SELECT * FROM k WHERE id = 1
----
[id int, Name varchar(20) null, amount decimal(9, 2) null, at date null, twice int null]
1 | one | 1.50 | 2024-01-31 | 2

SELECT t.amount AS a, t.id, 'x' AS c, 5, $1.5 m, NULL n, t.twice FROM k AS t WHERE t.ID = 1
----
[a decimal(9, 2) null, id int, c varchar(1),  int, m money, n int null, twice int null]
1.50 | 1 | x | 5 | 1.50 | NULL | 2

SELECT k.id FROM dbo.k WHERE k.id = 3; SELECT id FROM k WHERE id = 2147483648; SELECT id FROM k WHERE id = 1.0; SELECT id FROM k WHERE id = '2'
----
[id int]
[id int]
[id int]
1
[id int]
2

DECLARE @i bigint = 2, @n int, @t varchar(5) = '1', @big bigint = 5000000000
SELECT Name, @i FROM k WHERE id = @i
SELECT Name FROM k WHERE id = @n
SELECT Name, @t t FROM k WHERE id = @t
SELECT Name FROM k WHERE id = @big
----
[Name varchar(20) null,  bigint null]
two | 2
[Name varchar(20) null]
[Name varchar(20) null, t varchar(5) null]
one | 1
[Name varchar(20) null]

SELECT id FROM k WHERE id = 1 AND id = 1; SELECT id FROM k WHERE id = 1 AND id = 2; SELECT id FROM k WHERE id = 1 AND Name = 'ONE'; SELECT id FROM k WHERE Name = 'one'
----
[id int]
1
[id int]
[id int]
[id int]
1

SELECT nothing FROM k WHERE id = 1
----
error 207: Invalid column name 'nothing'.

SELECT id FROM k WHERE nothing = 1
----
error 207: Invalid column name 'nothing'.

SELECT id FROM k WHERE id = @undeclared
----
error 137: Must declare the scalar variable "@undeclared".

SELECT x.id FROM k WHERE id = 1
----
error 4104: The multi-part identifier "x.id" could not be bound.

SELECT dbo.k.id, $IDENTITY FROM k WHERE id = 1
----
error 207: Invalid column name '$IDENTITY'.

SELECT 1 FROM k WHERE id = 1; SELECT 1 FROM k WHERE id = 9; SELECT COUNT(*) FROM k WHERE id = 1
----
[ int]
1
[ int]
[ int]
1

SELECT TOP (0) id FROM k WHERE id = 1; SELECT DISTINCT id FROM k WHERE id = 1; SELECT id FROM k WHERE id = 1 ORDER BY id
----
[id int]
[id int]
1
[id int]
1

SET ROWCOUNT 1; SELECT id FROM k WHERE id = 1; SET ROWCOUNT 0; SET FMTONLY ON; SELECT id, Name FROM k WHERE id = 1; SET FMTONLY OFF
----
[id int]
1
[id int, Name varchar(20) null]

CREATE TABLE p (a tinyint NOT NULL, b bigint NOT NULL, c nvarchar(10) NOT NULL, d uniqueidentifier ROWGUIDCOL NULL, PRIMARY KEY (b DESC, a), UNIQUE (a), i int IDENTITY NOT NULL)
INSERT p (a, b, c) VALUES (1, 5000000000, N'x'), (2, 5, N'y')
----

DECLARE @b bigint = 5000000000; SELECT c, a FROM p WHERE a = 1 AND b = @b; SELECT c FROM p WHERE b = 5; SELECT c, i FROM p WHERE a = 2; SELECT c FROM p WHERE a = 300; SELECT $IDENTITY FROM p WHERE a = 2
----
[c nvarchar(10), a tinyint]
x | 1
[c nvarchar(10)]
y
[c nvarchar(10), i int]
y | 2
[c nvarchar(10)]
[i int]
2

CREATE VIEW v AS SELECT id, amount FROM k
----

CREATE SYNONYM s FOR k
----

SELECT amount FROM v WHERE id = 1; SELECT amount FROM s WHERE id = 1; SELECT name FROM sys.tables WHERE object_id = 1
----
[amount decimal(9, 2) null]
1.50
[amount decimal(9, 2) null]
1.50
[name nvarchar(128)]

DECLARE @t TABLE (id int PRIMARY KEY, v varchar(3)); INSERT @t VALUES (1, 'a'), (2, 'b'); SELECT v FROM @t WHERE id = 2; UPDATE @t SET v = 'c' WHERE id = 2; SELECT v, id FROM @t WHERE id = 2
----
[v varchar(3) null]
b
[v varchar(3) null, id int]
c | 2

CREATE TABLE #k (id int NOT NULL PRIMARY KEY, v int); INSERT #k VALUES (1, 10); SELECT v FROM #k WHERE id = 1; DELETE #k WHERE id = 1; SELECT v FROM #k WHERE id = 1
----
[v int null]
10
[v int null]

UPDATE k SET amount = 7 WHERE id = 1; UPDATE k SET Name = NULL WHERE id = 2; UPDATE k SET amount = amount + 1 WHERE id = 1; UPDATE k SET amount = 'x' WHERE id = 9; SELECT id, Name, amount FROM k
----
affected 1
affected 1
affected 1
affected 0
-3 | three | 3.00
1 | one | 8.00
2 | NULL | NULL

UPDATE k SET amount = 'x' WHERE id = 1
----
error 8114

UPDATE k SET id = 1 WHERE id = 2
----
error 2627

DECLARE @a decimal(5, 1) = 2.5; UPDATE k SET amount = @a, Name = Name OUTPUT deleted.amount, inserted.amount WHERE id = 1; UPDATE t SET amount = 4 FROM k t WHERE t.id = 1; DELETE FROM k OUTPUT deleted.id WHERE id = -3; DELETE FROM k WHERE id = 2 AND Name = 'two'; SELECT id, amount FROM k
----
[amount decimal(9, 2) null, amount decimal(9, 2) null]
8.00 | 2.50
[id int]
-3
[id int, amount decimal(9, 2) null]
1 | 4.00
2 | NULL

CREATE PROCEDURE f @id int AS SELECT Name, @id AS given FROM k WHERE id = @id
----

EXEC f 1; EXEC f NULL; EXEC sp_executesql N'SELECT id, twice FROM k WHERE id = @p', N'@p smallint', @p = 1
----
[Name varchar(20) null, given int null]
one | 1
[Name varchar(20) null, given int null]
[id int, twice int null]
1 | 2

SELECT 1; SELECT 'a' AS t, N'b', 0x01, 1.50, 1e0, $2, NULL; SELECT @@TRANCOUNT AS c, @@SERVERNAME WHERE 1 = 0
----
[ int]
1
[t varchar(1),  nvarchar(1),  varbinary(1),  numeric(3, 2),  float,  money,  int null]
a | b | 0x01 | 1.50 | 1 | 2.00 | NULL
[c int,  nvarchar(300)]

SELECT *
----
error 263: Must specify table to select from.

SELECT a
----
error 207: Invalid column name 'a'.

SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; BEGIN TRAN; SELECT id FROM k WHERE id = 1; SELECT id FROM k WITH (UPDLOCK, HOLDLOCK) WHERE id = 2; SELECT id FROM k WITH (NOLOCK) WHERE id = 1; SELECT id FROM k WITH (XLOCK, ROWLOCK) WHERE id = 1; COMMIT; SET TRANSACTION ISOLATION LEVEL READ COMMITTED
----
[id int]
1
[id int]
2
[id int]
1
[id int]
1
