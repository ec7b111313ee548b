CREATE TABLE n (a int)
INSERT n VALUES (1)
----

SELECT * FROM nodb.dbo.t
----
error 208: Invalid object name 'nodb.dbo.t'.

SET XACT_ABORT ON
BEGIN TRAN
INSERT n VALUES (2)
INSERT n VALUES ('x')
SELECT 'not reached'
----
error 245

SELECT @@TRANCOUNT, COUNT(*) FROM n
----
0 | 1

SET XACT_ABORT OFF
BEGIN TRAN
INSERT n VALUES (3)
INSERT n VALUES (NULL), (1/0)
SELECT COUNT(*) FROM n
ROLLBACK
----
error 8134
2

CREATE TABLE c (a int, d date, m decimal(9, 2), u uniqueidentifier, x xml, y money)
----

BEGIN TRAN
INSERT c (a) VALUES (1)
INSERT c (a) SELECT 'x'
SELECT 'not reached'
----
error 245: Conversion failed when converting the varchar value 'x' to data type int.

SELECT @@TRANCOUNT, COUNT(*) FROM c
----
0 | 0

BEGIN TRAN
INSERT c (a) VALUES (1)
SELECT CAST('2023-02-29' AS date)
----
error 241

SELECT @@TRANCOUNT, COUNT(*) FROM c
----
0 | 0

BEGIN TRAN
SELECT CAST('x' AS decimal(5, 2))
----
error 8114

SELECT @@TRANCOUNT
----
0

BEGIN TRAN
SELECT CAST('x' AS uniqueidentifier)
----
error 8169

SELECT @@TRANCOUNT
----
0

BEGIN TRAN
SELECT CAST('<a' AS xml)
----
error 9400

SELECT @@TRANCOUNT
----
0

BEGIN TRAN
INSERT c (a) VALUES (1)
BEGIN TRY
    SET NOCOUNT ON
    DECLARE @i int = 'x'
END TRY
BEGIN CATCH
    SELECT ERROR_NUMBER(), XACT_STATE(), @@TRANCOUNT
    ROLLBACK
END CATCH
SELECT COUNT(*) FROM c
----
245 | -1 | 1
0

BEGIN TRAN
INSERT c (a) VALUES (1)
BEGIN TRY
    INSERT c (d) VALUES ('2023-02-29')
END TRY
BEGIN CATCH
    SELECT ERROR_NUMBER(), XACT_STATE()
    INSERT c (a) VALUES (2)
END CATCH
----
241 | -1
error 3930: The current transaction cannot be committed and cannot support operations that write to the log file. Roll back the transaction.
error 3998: Uncommittable transaction is detected at the end of the batch. The transaction is rolled back.

SELECT @@TRANCOUNT, COUNT(*) FROM c
----
0 | 0

CREATE PROCEDURE converts AS INSERT c (a) VALUES ('x')
----

BEGIN TRAN
INSERT c (a) VALUES (1)
EXEC converts
SELECT 'not reached'
----
error 245

SELECT @@TRANCOUNT, COUNT(*) FROM c
----
0 | 0

-- Without a transaction a caught conversion leaves nothing to lose.
BEGIN TRY SELECT CAST('x' AS int) END TRY
BEGIN CATCH SELECT XACT_STATE(), ERROR_NUMBER() END CATCH
INSERT c (a) VALUES (7)
SELECT a FROM c
----
0 | 245
7

-- An overflow of numbers ends its statement alone, and TRY_CAST none.
BEGIN TRAN
INSERT c (a) VALUES (2147483648)
INSERT c (a) VALUES (CAST(300 AS tinyint))
INSERT c (a) VALUES (TRY_CAST('x' AS int))
SELECT XACT_STATE(), COUNT(*) FROM c
ROLLBACK
----
error 8115
error 220
1 | 2

-- Nor does a division by zero within TRY.
BEGIN TRAN
BEGIN TRY SELECT 1 / 0 END TRY
BEGIN CATCH SELECT XACT_STATE() END CATCH
ROLLBACK
----
1
