CREATE TABLE item (id int PRIMARY KEY, name varchar(10) NOT NULL, price int, kind varchar(5) DEFAULT 'std')
INSERT item VALUES (1, 'pen', 3, 'a'), (2, 'cup', 8, 'b'), (3, 'hat', 20, 'a')
----

CREATE VIEW cheap AS SELECT id, name AS label, price FROM item WHERE price < 10
----

SELECT * FROM cheap ORDER BY id
----
[id int, label varchar(10), price int null]
1 | pen | 3
2 | cup | 8

SELECT c.label, dbo.cheap.id FROM dbo.cheap JOIN cheap AS c ON c.id = dbo.cheap.id WHERE c.price > 5
----
cup | 2

CREATE VIEW cheap AS SELECT 1 AS a
----
error 2714: There is already an object named 'cheap' in the database.

CREATE TABLE cheap (id int)
----
error 2714

SELECT 1 CREATE VIEW late AS SELECT 1 AS a
----
error 111: 'CREATE VIEW' must be the first statement in a query batch.

CREATE VIEW nameless AS SELECT 1
----
error 4511: Create View or Function failed because no column name was specified for column 1.

CREATE VIEW twice AS SELECT id, id FROM item
----
error 4506

CREATE VIEW sorted AS SELECT id FROM item ORDER BY id
----
error 1033

CREATE VIEW missing AS SELECT * FROM nosuch
----
error 208: Invalid object name 'nosuch'.

CREATE VIEW few (a) AS SELECT id, name FROM item
----
error 8158

ALTER VIEW nosuch AS SELECT 1 AS a
----
error 208: Invalid object name 'nosuch'.

CREATE OR ALTER VIEW renamed (a, b) AS SELECT id, name FROM item
----

CREATE OR ALTER VIEW renamed (a, b, c) AS SELECT id, name, price FROM item
----

SELECT a, c FROM renamed WHERE b = 'hat'
----
3 | 20

UPDATE renamed SET c = c + 1 WHERE a = 3
SELECT price FROM item WHERE id = 3
----
21

INSERT renamed VALUES (4, 'mat', 5)
INSERT cheap (id, label) VALUES (5, 'box')
DELETE FROM cheap WHERE label = 'mat'
SELECT id, name, price, kind FROM item ORDER BY id
----
1 | pen | 3 | a
2 | cup | 8 | b
3 | hat | 21 | a
5 | box | NULL | std

CREATE VIEW grouped AS SELECT kind, COUNT(*) AS n FROM item GROUP BY kind
----

DELETE grouped
----
error 4403

SELECT name, type, type_desc FROM sys.objects WHERE name IN ('cheap', 'grouped') ORDER BY name
SELECT name FROM sys.views ORDER BY name
SELECT TABLE_NAME FROM INFORMATION_SCHEMA.VIEWS ORDER BY 1
SELECT name FROM sys.columns WHERE object_id = OBJECT_ID('cheap', 'V') ORDER BY column_id
SELECT m.definition FROM sys.sql_modules AS m WHERE m.object_id = OBJECT_ID('dbo.grouped')
----
cheap | V  | VIEW
grouped | V  | VIEW
cheap
grouped
renamed
cheap
grouped
renamed
id
label
price
CREATE VIEW grouped AS SELECT kind, COUNT(*) AS n FROM item GROUP BY kind

DROP VIEW nosuch
----
error 3701: Cannot drop the view 'nosuch', because it does not exist or you do not have permission.

DROP TABLE cheap
----
error 3701

DROP PROCEDURE cheap
----
error 3705: Cannot use DROP PROCEDURE with 'cheap' because 'cheap' is a view. Use DROP VIEW.

BEGIN TRAN
DROP VIEW IF EXISTS grouped, nosuch
ROLLBACK
SELECT n FROM grouped WHERE kind = 'b'
----
1

DROP VIEW grouped, renamed
SELECT * FROM grouped
----
error 208: Invalid object name 'grouped'.

CREATE PROCEDURE add_item @id int, @name varchar(10) = 'none', @price int = NULL, @count int OUTPUT
AS
BEGIN
  SET NOCOUNT ON
  INSERT item (id, name, price) VALUES (@id, @name, @price)
  SELECT @count = COUNT(*) FROM item
  IF @price IS NULL RETURN 7
  RETURN
END
----

DECLARE @n int, @status int
EXEC @status = add_item 10, 'ten', 100, @n OUTPUT
SELECT @n, @status
EXEC @status = dbo.add_item @id = 11, @count = @n OUT
SELECT @n, @status
EXEC add_item 12, DEFAULT, 5, @n
SELECT @n, name FROM item WHERE id = 12
----
5 | 0
6 | 7
6 | none

EXEC add_item
----
error 201: Procedure or function 'add_item' expects parameter '@id', which was not supplied.

EXEC add_item 1, 2, 3, 4, 5
----
error 8144: Procedure or function add_item has too many arguments specified.

EXEC add_item @nosuch = 1
----
error 8145: @nosuch is not a parameter for procedure add_item.

EXEC nosuch_procedure
----
error 2812: Could not find stored procedure 'nosuch_procedure'.

CREATE PROC two_results AS SELECT 1 AS a SELECT 'x' AS b, 'y' AS c RETURN 3
----

two_results
----
[a int]
1
[b varchar(1), c varchar(1)]
x | y
status 3

CREATE TABLE #kept (a int, b int)
INSERT #kept (a) EXEC ('SELECT 5')
EXEC ('CREATE TABLE #inner (x int)')
SELECT COUNT(*) FROM #kept
SELECT * FROM #inner
----
1
error 208: Invalid object name '#inner'.

CREATE PROCEDURE fails AS BEGIN TRY SELECT 1 / 0 END TRY BEGIN CATCH SELECT ERROR_NUMBER(), ERROR_PROCEDURE(), ERROR_LINE() END CATCH
----

EXEC fails
----
8134 | fails | 1

CREATE PROCEDURE recurse @n int AS BEGIN SELECT @n AS n IF @n > 1 BEGIN DECLARE @m int = @n - 1 EXEC recurse @m END END
----

EXEC recurse 3
----
3
2
1

CREATE PROCEDURE forever AS EXEC forever
----

EXEC forever
----
error 217: Maximum stored procedure, function, trigger, or view nesting level exceeded (limit 32).

ALTER PROCEDURE two_results AS SELECT 2 AS a
----

EXEC two_results
----
2

INSERT item (id, name) EXEC two_results
----
error 213

SELECT p.name, p.is_output FROM sys.parameters AS p WHERE p.object_id = OBJECT_ID('add_item') ORDER BY p.parameter_id
SELECT name FROM sys.procedures WHERE name LIKE 'f%' ORDER BY name
SELECT ROUTINE_NAME, ROUTINE_TYPE FROM INFORMATION_SCHEMA.ROUTINES WHERE ROUTINE_NAME = 'fails'
----
@id | 0
@name | 0
@price | 0
@count | 1
fails
forever
fails | PROCEDURE

DROP PROC forever, fails
EXEC fails
----
error 2812

CREATE FUNCTION dbo.doubled (@x int) RETURNS int AS BEGIN RETURN @x * 2 END
----

SELECT dbo.doubled(21), dbo.doubled(NULL), dbo.doubled('4') + 1
SELECT id FROM item WHERE dbo.doubled(id) = 4
----
42 | NULL | 9
2

SELECT dbo.doubled()
----
error 313: An insufficient number of arguments were supplied for the procedure or function dbo.doubled.

SELECT dbo.doubled(1, 2)
----
error 8144

SELECT dbo.nosuch(1)
----
error 4121: Cannot find either column "dbo" or the user-defined function or aggregate "dbo.nosuch", or the name is ambiguous.

CREATE FUNCTION dbo.factorial (@n int) RETURNS bigint AS
BEGIN
  DECLARE @r bigint = 1
  WHILE @n > 1 BEGIN SET @r = @r * @n SET @n = @n - 1 END
  RETURN @r
END
----

CREATE FUNCTION dbo.fib (@n int) RETURNS int AS
BEGIN
  IF @n < 2 RETURN @n
  RETURN dbo.fib(@n - 1) + dbo.fib(@n - 2)
END
----

CREATE FUNCTION dbo.price_of (@id int) RETURNS int WITH SCHEMABINDING AS
BEGIN
  DECLARE @p int
  SELECT @p = price FROM dbo.item WHERE id = @id
  RETURN @p
END
----

SELECT dbo.factorial(10), dbo.fib(7), dbo.price_of(2)
----
3628800 | 13 | 8

BEGIN TRAN
UPDATE item SET price = 99 WHERE id = 2
SELECT dbo.price_of(id) FROM item WHERE id = 2
ROLLBACK
SELECT dbo.price_of(2)
----
99
8

CREATE FUNCTION dbo.deep (@n int) RETURNS int AS BEGIN RETURN dbo.deep(@n + 1) END
----

SELECT dbo.deep(1)
----
error 217

CREATE FUNCTION dbo.bad () RETURNS int AS BEGIN DELETE item RETURN 1 END
----
error 443: Invalid use of a side-effecting operator 'DELETE' within a function.

CREATE FUNCTION dbo.bad () RETURNS int AS BEGIN SELECT 1 RETURN 1 END
----
error 444

CREATE FUNCTION dbo.bad () RETURNS int AS BEGIN DECLARE @a int END
----
error 455

CREATE FUNCTION dbo.above (@limit int) RETURNS TABLE AS RETURN (SELECT id, name, price FROM dbo.item WHERE price >= @limit)
----

SELECT * FROM dbo.above(20) ORDER BY id
SELECT i.id, a.id FROM item AS i CROSS APPLY dbo.above(i.price + 1) AS a WHERE i.id < 3 ORDER BY i.id, a.id
----
[id int, name varchar(10), price int null]
3 | hat | 21
10 | ten | 100
[id int, id int]
1 | 2
1 | 3
1 | 10
1 | 12
2 | 3
2 | 10

CREATE FUNCTION dbo.counted (@n int) RETURNS @t TABLE (i int PRIMARY KEY, square int) AS
BEGIN
  WHILE @n > 0 BEGIN INSERT @t VALUES (@n, @n * @n) SET @n -= 1 END
  RETURN
END
----

SELECT i, square FROM dbo.counted(3) ORDER BY i
----
1 | 1
2 | 4
3 | 9

SELECT name, type FROM sys.objects WHERE type IN ('FN', 'IF', 'TF') ORDER BY name
----
above | IF
counted | TF
deep | FN
doubled | FN
factorial | FN
fib | FN
price_of | FN

CREATE SEQUENCE numbers AS int START WITH 10 INCREMENT BY 5
----

SELECT NEXT VALUE FOR numbers
SELECT NEXT VALUE FOR dbo.numbers AS n, id FROM item WHERE id < 3 ORDER BY id
----
[ int]
10
[n int, id int]
15 | 1
20 | 2

ALTER SEQUENCE numbers RESTART WITH 1
DECLARE @v int = NEXT VALUE FOR numbers
SELECT @v
----
1

CREATE SEQUENCE small AS tinyint START WITH 254
----

SELECT NEXT VALUE FOR small SELECT NEXT VALUE FOR small SELECT NEXT VALUE FOR small
----
254
255
error 11728: The sequence object 'small' has reached its minimum or maximum value. Restart the sequence object to allow new values to be generated.

CREATE SEQUENCE round AS int MINVALUE 1 MAXVALUE 2 CYCLE
SELECT NEXT VALUE FOR round SELECT NEXT VALUE FOR round SELECT NEXT VALUE FOR round
----
1
2
1

CREATE TABLE keyed (id int DEFAULT (NEXT VALUE FOR numbers) PRIMARY KEY, v int)
INSERT keyed (v) VALUES (7), (8)
SELECT id, v FROM keyed ORDER BY id
----
6 | 7
11 | 8

CREATE SEQUENCE bad AS varchar(5)
----
error 11702

CREATE SEQUENCE bad AS int INCREMENT BY 0
----
error 11700

CREATE SEQUENCE bad AS int START WITH 5 MAXVALUE 4
----
error 11703

SELECT NEXT VALUE FOR nosuch
----
error 208: Invalid object name 'nosuch'.

SELECT name, increment FROM sys.sequences ORDER BY name
----
numbers | 5
round | 1
small | 1

CREATE SYNONYM thing FOR dbo.item
----

SELECT COUNT(*) FROM thing
UPDATE thing SET price = 1 WHERE id = 1
INSERT thing (id, name) VALUES (77, 'syn')
SELECT price FROM item WHERE id = 1
SELECT name, base_object_name FROM sys.synonyms
DROP SYNONYM thing
SELECT * FROM thing
----
7
1
thing | [dbo].[item]
error 208: Invalid object name 'thing'.

CREATE SCHEMA lib
----

CREATE VIEW lib.v AS SELECT 1 AS one
----

DROP SCHEMA lib
----
error 3729

DROP VIEW lib.v
DROP SCHEMA lib
DROP SEQUENCE numbers
----

-- What the catalogue says of sequences: where they start, how many values are set aside, and the last one given out.
CREATE SEQUENCE plain AS int START WITH 5 INCREMENT BY 2 CACHE 10
CREATE SEQUENCE uncached NO CACHE MINVALUE 1 MAXVALUE 3
CREATE SEQUENCE unsaid CACHE
SELECT name, start_value, current_value, last_used_value, is_cached, cache_size, is_exhausted FROM sys.sequences WHERE name IN ('plain', 'uncached', 'unsaid') ORDER BY name
----
plain | 5 | 5 | NULL | 1 | 10 | 0
uncached | 1 | 1 | NULL | 0 | NULL | 0
unsaid | -9223372036854775808 | -9223372036854775808 | NULL | 1 | NULL | 0

SELECT NEXT VALUE FOR plain AS a, NEXT VALUE FOR uncached AS b
SELECT NEXT VALUE FOR uncached AS b SELECT NEXT VALUE FOR uncached AS b
ALTER SEQUENCE unsaid RESTART WITH 50
SELECT name, start_value, current_value, last_used_value, is_exhausted FROM sys.sequences WHERE name IN ('plain', 'uncached', 'unsaid') ORDER BY name
----
5 | 1
2
3
plain | 5 | 5 | 5 | 0
uncached | 1 | 3 | 3 | 1
unsaid | 50 | 50 | NULL | 0

ALTER SEQUENCE uncached RESTART CACHE 7 NO MAXVALUE
ALTER SEQUENCE plain INCREMENT BY 3
SELECT NEXT VALUE FOR plain AS a, NEXT VALUE FOR uncached AS b
SELECT name, start_value, maximum_value, current_value, is_cached, cache_size, increment FROM sys.sequences WHERE name IN ('plain', 'uncached') ORDER BY name
----
7 | 1
plain | 5 | 2147483647 | 7 | 1 | 10 | 3
uncached | 1 | 9223372036854775807 | 1 | 1 | 7 | 1

ALTER SEQUENCE plain INCREMENT BY 0
----
error 11700: The increment for sequence object 'plain' cannot be zero.

ALTER SEQUENCE plain MAXVALUE 0 MINVALUE 0
----
error 11705: The minimum value for sequence object 'plain' must be less than its maximum value.

ALTER SEQUENCE plain CACHE 0
----
error 11706: The cache size for sequence object 'plain' must be greater than 0.

CREATE TABLE sequenced (a int DEFAULT (NEXT VALUE FOR dbo.plain), b int DEFAULT NEXT VALUE FOR plain)
SELECT definition FROM sys.default_constraints WHERE parent_object_id = OBJECT_ID('sequenced') ORDER BY definition
----
(NEXT VALUE FOR [dbo].[plain])
(NEXT VALUE FOR [plain])

-- All that name one sequence have the same value in a row, and another one in the next.
CREATE SEQUENCE same START WITH 1
CREATE TABLE numbered (a int, b varchar(10), c int)
----

SELECT NEXT VALUE FOR same AS a, NEXT VALUE FOR dbo.same + 100 AS b, v FROM (VALUES (7), (8)) x (v)
----
1 | 101 | 7
2 | 102 | 8

INSERT numbered VALUES (NEXT VALUE FOR same, CONCAT('n', NEXT VALUE FOR same), 0), (NEXT VALUE FOR same, CONCAT('n', NEXT VALUE FOR same), 1)
INSERT numbered SELECT NEXT VALUE FOR same, CONCAT('s', NEXT VALUE FOR same), value FROM GENERATE_SERIES(1, 3)
SELECT COUNT(*), COUNT(DISTINCT a), SUM(CASE WHEN a = SUBSTRING(b, 2, 9) THEN 1 ELSE 0 END) FROM numbered
----
5 | 5 | 5

-- DEFAULT as an argument is the default of the parameter.
CREATE FUNCTION dbo.grown(@n int = 4, @by int) RETURNS int AS BEGIN RETURN @n + @by END
----

SELECT dbo.grown(DEFAULT, 1), dbo.grown(2, 1), SUM(dbo.grown(DEFAULT, v)) FROM (VALUES (1), (2)) x (v)
----
5 | 3 | 11

SELECT dbo.grown(1, DEFAULT)
----
NULL
