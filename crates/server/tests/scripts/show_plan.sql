CREATE TABLE p (id int NOT NULL PRIMARY KEY, b int, name varchar(20)); CREATE INDEX by_b ON p (b, id); INSERT p VALUES (1, 2, 'x'), (2, 3, 'y'); CREATE TABLE q (id int NOT NULL, v int); INSERT q VALUES (1, 10)
----

SET SHOWPLAN_XML ON
----
error 40515: SET SHOWPLAN_XML ON (SHOWPLAN_TEXT shows plans) is not supported by this server.

SET SHOWPLAN_ALL ON
----
error 40515: SET SHOWPLAN_ALL ON (SHOWPLAN_TEXT shows plans) is not supported by this server.

SET SHOWPLAN_TEXT ON; SELECT 1
----
error 1067: The SET SHOWPLAN statements must be the only statements in the batch.

SET SHOWPLAN_TEXT ON
----

SELECT name FROM p WHERE id = 1
----
[StmtText nvarchar(max) null]
SELECT name FROM p WHERE id = 1
[StmtText nvarchar(max) null]
Path(Simple)
  |--Filter
       |--Clustered Index Seek(OBJECT:([master].[dbo].[p]), SEEK:([id]=1))

SELECT name FROM p WHERE id BETWEEN 1 AND 5 AND b = 3 ORDER BY name
----
[StmtText nvarchar(max) null]
SELECT name FROM p WHERE id BETWEEN 1 AND 5 AND b = 3 ORDER BY name
[StmtText nvarchar(max) null]
Path(Simple)
  |--Sort
       |--Filter
            |--Index Seek(OBJECT:([master].[dbo].[p].[by_b]), SEEK:([b]=3 AND [id]>=1 AND [id]<=5))

SELECT id FROM p WHERE b IN (2, 3)
----
[StmtText nvarchar(max) null]
SELECT id FROM p WHERE b IN (2, 3)
[StmtText nvarchar(max) null]
Path(Simple)
  |--Filter
       |--Index Seek(OBJECT:([master].[dbo].[p].[by_b]), SEEK:([b]=2 OR [b]=3))

SELECT id FROM p WHERE b = NULL
----
[StmtText nvarchar(max) null]
SELECT id FROM p WHERE b = NULL
[StmtText nvarchar(max) null]
Path(Simple)
  |--Constant Scan

SELECT b, COUNT(*) FROM p GROUP BY b HAVING COUNT(*) > 1
----
[StmtText nvarchar(max) null]
SELECT b, COUNT(*) FROM p GROUP BY b HAVING COUNT(*) > 1
[StmtText nvarchar(max) null]
Path(Simple)
  |--Compute Scalar
       |--Filter
            |--Hash Match(Aggregate)
                 |--Table Scan(OBJECT:([master].[dbo].[p]))

SELECT TOP 1 p.name, q.v FROM p LEFT JOIN q ON q.id = p.id ORDER BY q.v
----
[StmtText nvarchar(max) null]
SELECT TOP 1 p.name, q.v FROM p LEFT JOIN q ON q.id = p.id ORDER BY q.v
[StmtText nvarchar(max) null]
Path(Simple)
  |--Top
       |--Sort
            |--Hash Match(Left Outer Join)
                 |--Table Scan(OBJECT:([master].[dbo].[p]))
                 |--Table Scan(OBJECT:([master].[dbo].[q]))

SELECT id FROM p WHERE NOT EXISTS (SELECT 1 FROM q WHERE q.id = p.id) UNION ALL SELECT v FROM q
----
[StmtText nvarchar(max) null]
SELECT id FROM p WHERE NOT EXISTS (SELECT 1 FROM q WHERE q.id = p.id) UNION ALL SELECT v FROM q
[StmtText nvarchar(max) null]
Path(Simple)
  |--Concatenation
       |--Hash Match(Left Anti Semi Join)
            |--Table Scan(OBJECT:([master].[dbo].[p]))
            |--Table Scan(OBJECT:([master].[dbo].[q]))
       |--Table Scan(OBJECT:([master].[dbo].[q]))

SELECT name, ROW_NUMBER() OVER (ORDER BY b) FROM p
----
[StmtText nvarchar(max) null]
SELECT name, ROW_NUMBER() OVER (ORDER BY b) FROM p
[StmtText nvarchar(max) null]
Path(Full)
  |--Compute Scalar
       |--Window Aggregate
            |--Sort
                 |--Table Scan(OBJECT:([master].[dbo].[p]))

SELECT p.name FROM p JOIN q ON q.id > p.id
----
[StmtText nvarchar(max) null]
SELECT p.name FROM p JOIN q ON q.id > p.id
[StmtText nvarchar(max) null]
Path(Full)
  |--Nested Loops(Inner Join)
       |--Table Scan(OBJECT:([master].[dbo].[p]))
       |--Table Scan(OBJECT:([master].[dbo].[q]))

SELECT name FROM p FULL JOIN q ON q.id = p.id WHERE EXISTS (SELECT 1 FROM q r WHERE r.v > q.v)
----
[StmtText nvarchar(max) null]
SELECT name FROM p FULL JOIN q ON q.id = p.id WHERE EXISTS (SELECT 1 FROM q r WHERE r.v > q.v)
[StmtText nvarchar(max) null]
Path(Full)
  |--Nested Loops(Left Semi Join)
       |--Hash Match(Full Outer Join)
            |--Table Scan(OBJECT:([master].[dbo].[p]))
            |--Table Scan(OBJECT:([master].[dbo].[q]))
       |--Table Scan(OBJECT:([master].[dbo].[q]))

DECLARE @id int = 7; UPDATE p SET name = 'z' WHERE id = @id; DELETE q
----
[StmtText nvarchar(max) null]
DECLARE @id int = 7; UPDATE p SET name = 'z' WHERE id = @id; DELETE q
[StmtText nvarchar(max) null]
Path(Simple)
  |--Table Update(OBJECT:([p]))
       |--Compute Scalar
            |--Filter
                 |--Clustered Index Seek(OBJECT:([master].[dbo].[p]), SEEK:([id]=7))
[StmtText nvarchar(max) null]
Path(Simple)
  |--Table Delete(OBJECT:([q]))
       |--Compute Scalar
            |--Table Scan(OBJECT:([master].[dbo].[q]))

UPDATE p SET name = 'z' WHERE id = 7 DELETE q WHERE id = 1
----
[StmtText nvarchar(max) null]
UPDATE p SET name = 'z' WHERE id = 7 DELETE q WHERE id = 1
[StmtText nvarchar(max) null]
Path(Simple)
  |--Table Update(OBJECT:([p]))
       |--Compute Scalar
            |--Filter
                 |--Clustered Index Seek(OBJECT:([master].[dbo].[p]), SEEK:([id]=7))
[StmtText nvarchar(max) null]
Path(Simple)
  |--Table Delete(OBJECT:([q]))
       |--Compute Scalar
            |--Filter
                 |--Table Scan(OBJECT:([master].[dbo].[q]))

INSERT q SELECT id, b FROM p
----
[StmtText nvarchar(max) null]
INSERT q SELECT id, b FROM p
[StmtText nvarchar(max) null]
Path(Simple)
  |--Table Insert(OBJECT:([q]))
       |--Table Scan(OBJECT:([master].[dbo].[p]))

IF 1 = 1 SELECT id FROM q ELSE BEGIN INSERT q VALUES (5, 6) SELECT v INTO r FROM q END
----
[StmtText nvarchar(max) null]
IF 1 = 1 SELECT id FROM q ELSE BEGIN INSERT q VALUES (5, 6) SELECT v INTO r FROM q END
[StmtText nvarchar(max) null]
Path(Simple)
  |--Table Scan(OBJECT:([master].[dbo].[q]))
[StmtText nvarchar(max) null]
Path(Simple)
  |--Table Insert(OBJECT:([r]))
       |--Table Scan(OBJECT:([master].[dbo].[q]))

DROP TABLE q; CREATE TABLE s (a int)
----
[StmtText nvarchar(max) null]
DROP TABLE q; CREATE TABLE s (a int)

SELECT id FROM nosuch
----
[StmtText nvarchar(max) null]
SELECT id FROM nosuch
error 208: Invalid object name 'nosuch'.

SELECT nothing FROM p
----
[StmtText nvarchar(max) null]
SELECT nothing FROM p
error 207: Invalid column name 'nothing'.

sp_executesql N'SELECT id FROM q WHERE v = @v', N'@v int', @v = 1
----
[StmtText nvarchar(max) null]
sp_executesql N'SELECT id FROM q WHERE v = @v', N'@v int', @v = 1

SET SHOWPLAN_TEXT OFF
----

SELECT COUNT(*), MAX(name) FROM p UNION ALL SELECT COUNT(*), NULL FROM q
----
[ int,  varchar(20) null]
2 | y
1 | NULL
