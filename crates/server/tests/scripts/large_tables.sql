-- Tables that are read by several tasks, in stripes. Row 45001 has a text that is no number.
CREATE TABLE big (id int NOT NULL, grp int NOT NULL, note varchar(100) NULL, amount decimal(12,2) NOT NULL, v varchar(10) NOT NULL, long varchar(max) NULL)
INSERT big SELECT value, value % 7, CASE WHEN value % 10 = 0 THEN NULL ELSE CONCAT('note of row number ', value, REPLICATE('.', 60)) END, value * 0.25,
  CASE WHEN value = 45001 THEN 'none' ELSE CAST(value AS varchar(10)) END, CASE WHEN value % 20000 = 0 THEN REPLICATE(CAST('x' AS varchar(max)), 9000) END
FROM GENERATE_SERIES(1, 60000)
CREATE TABLE part (grp int NOT NULL, name varchar(20) NOT NULL)
INSERT part SELECT value, CONCAT('group ', value) FROM GENERATE_SERIES(0, 6)
CREATE TABLE entry (no int NOT NULL PRIMARY KEY, big int NOT NULL, filler char(80) NOT NULL)
INSERT entry SELECT value, 60001 - value, 'entry' FROM GENERATE_SERIES(1, 60000)
----

SELECT COUNT(*), SUM(amount), MIN(id), MAX(id) FROM big WHERE grp = 3
----
8572 | 64293214.50 | 3 | 60000

SELECT COUNT(*), COUNT(note) FROM big
----
60000 | 54000

-- Unknown is not true.
SELECT COUNT(*) FROM big WHERE note <> 'other'
----
54000

SELECT COUNT(*) FROM big WHERE NOT (note = 'other') OR note IS NULL
----
60000

-- Rows come in the order in which they are stored.
SELECT TOP (3) id, amount FROM big WHERE id > 30000
----
30001 | 7500.25
30002 | 7500.50
30003 | 7500.75

SELECT id FROM big WHERE id IN (1, 20000, 40000, 60000)
----
1
20000
40000
60000

-- Columns that the condition does not need are read of the rows that it leaves, values outside of their row too.
SELECT id, LEN(long), LEFT(note, 21), amount * 2 FROM big WHERE id % 20000 < 2 AND id > 10000
----
20000 | 9000 | NULL | 10000.00
20001 | NULL | note of row number 20 | 10000.50
40000 | 9000 | NULL | 20000.00
40001 | NULL | note of row number 40 | 20000.50
60000 | 9000 | NULL | 30000.00

SELECT SUM(LEN(long)) FROM big
----
27000

-- The rows before one that fails come first.
SELECT id, CAST(v AS int) FROM big WHERE id > 44998
----
44999 | 44999
45000 | 45000
error 245: Conversion failed when converting the varchar value 'none' to data type int.

SELECT id FROM big WHERE CAST(v AS int) BETWEEN 44999 AND 50000
----
44999
45000
error 245: Conversion failed when converting the varchar value 'none' to data type int.

-- Nobody asks for those behind.
SELECT TOP (2) CAST(v AS int) FROM big WHERE id > 44998
----
44999
45000

SELECT COUNT(*) FROM big WHERE CAST(v AS int) > 0 AND id < 45001
----
45000

SELECT COUNT(*) FROM big WHERE CAST(v AS int) > 0
----
error 245: Conversion failed when converting the varchar value 'none' to data type int.

-- A function of the user's runs in its session.
CREATE FUNCTION dbo.parity (@id int) RETURNS int AS BEGIN RETURN @id % 2 END
----

SELECT COUNT(*) FROM big WHERE id < 1001 AND dbo.parity(id) = 1
----
500

-- Joins in whichever order they are written.
SELECT p.name, COUNT(*), SUM(b.amount), MAX(e.no) FROM big b, entry e, part p
WHERE b.id = e.big AND p.grp = b.grp AND e.no <= 30000 AND p.name IN ('group 1', 'group 5') GROUP BY p.name ORDER BY p.name
----
group 1 | 4286 | 48218035.75 | 29998
group 5 | 4285 | 48207321.25 | 29994

SELECT COUNT(*) FROM part p JOIN big b ON b.grp = p.grp JOIN entry e ON e.big = b.id AND e.no < b.id
----
30000

SELECT COUNT(*) FROM big b WHERE EXISTS (SELECT * FROM entry e JOIN part p ON p.grp = e.no % 8 WHERE e.big = b.id)
----
52500

SELECT COUNT(*), COUNT(e.no) FROM big b LEFT JOIN entry e ON e.big = b.id AND e.no % 3 = 0
----
60000 | 20000

SELECT COUNT(*) FROM big b JOIN big c ON c.id = b.id + 1 JOIN big d ON d.id = c.id + 1 WHERE b.grp = 0
----
8571

-- A statement sees the rows of its transaction, and not those that it adds.
BEGIN TRANSACTION
UPDATE big SET amount = -1 WHERE id BETWEEN 100 AND 199
DELETE big WHERE id > 59990
SELECT COUNT(*), SUM(CASE WHEN amount < 0 THEN 1 ELSE 0 END) FROM big
INSERT big SELECT * FROM big
SELECT COUNT(*), MIN(amount) FROM big
ROLLBACK
----
59990 | 100
119980 | -1.00

SELECT COUNT(*), MIN(amount) FROM big
----
60000 | 0.25

-- In the order of the key, from both ends.
SELECT TOP (2) no, big FROM entry ORDER BY no DESC
----
60000 | 1
59999 | 2

SELECT TOP (2) no FROM entry WHERE big % 1000 = 1 ORDER BY no
----
1000
2000

SELECT COUNT(*), SUM(CAST(no AS bigint)) FROM entry WHERE no BETWEEN 1001 AND 2000
----
1000 | 1500500
