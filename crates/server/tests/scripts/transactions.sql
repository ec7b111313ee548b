CREATE TABLE t (a int)
----

BEGIN TRAN; INSERT t VALUES (1); SELECT @@TRANCOUNT, COUNT(*) FROM t
----
1 | 1

-- @b
SELECT COUNT(*) FROM t
----
0

ROLLBACK; SELECT @@TRANCOUNT, COUNT(*) FROM t
----
0 | 0

BEGIN TRANSACTION; INSERT t VALUES (1); COMMIT TRANSACTION; SELECT COUNT(*) FROM t
----
1

-- @b
SELECT COUNT(*) FROM t
----
1

BEGIN TRAN; BEGIN TRAN; SELECT @@TRANCOUNT; COMMIT; SELECT @@TRANCOUNT; COMMIT; SELECT @@TRANCOUNT
----
2
1
0

COMMIT
----
error 3902: The COMMIT TRANSACTION request has no corresponding BEGIN TRANSACTION.

ROLLBACK
----
error 3903: The ROLLBACK TRANSACTION request has no corresponding BEGIN TRANSACTION.

BEGIN TRAN; INSERT t VALUES (2); SAVE TRAN sp; INSERT t VALUES (3); ROLLBACK TRAN sp; COMMIT; SELECT a FROM t ORDER BY a
----
1
2

BEGIN TRAN; INSERT t VALUES (10); INSERT t VALUES ('x'); SELECT 'not reached'
----
error 245

SELECT @@TRANCOUNT, COUNT(*) FROM t WHERE a = 10; INSERT t VALUES (10)
----
0 | 0

SET XACT_ABORT ON; BEGIN TRAN; INSERT t VALUES (11); INSERT t VALUES (1 / 0); SELECT 'not reached'
----
error 8134

SELECT @@TRANCOUNT, COUNT(*) FROM t WHERE a = 11; SET XACT_ABORT OFF
----
0 | 0

BEGIN TRAN; CREATE TABLE inside (a int); INSERT inside VALUES (1); ROLLBACK; SELECT OBJECT_ID('inside')
----
NULL

BEGIN TRAN; TRUNCATE TABLE t; DROP TABLE t; ROLLBACK; SELECT COUNT(*) FROM t
----
3

BEGIN TRAN; CREATE TABLE #x (a int); INSERT #x VALUES (1); COMMIT; SELECT * FROM #x
----
1

BEGIN TRAN; INSERT #x VALUES (2); ROLLBACK; SELECT COUNT(*) FROM #x
----
1

SET IMPLICIT_TRANSACTIONS ON; INSERT t VALUES (20); SELECT @@TRANCOUNT; IF @@TRANCOUNT > 0 ROLLBACK TRAN; SET IMPLICIT_TRANSACTIONS OFF; SELECT COUNT(*) FROM t
----
1
3

-- BEGIN TRAN begins one of its own within the implicit one.
SET IMPLICIT_TRANSACTIONS ON; BEGIN TRAN; SELECT @@TRANCOUNT; COMMIT; SELECT @@TRANCOUNT; COMMIT; SET IMPLICIT_TRANSACTIONS OFF; SELECT @@TRANCOUNT
----
2
1
0

SET TRAN ISOLATION LEVEL SERIALIZABLE; SELECT transaction_isolation_level FROM sys.dm_exec_sessions WHERE session_id = @@SPID; SET TRAN ISOLATION LEVEL READ COMMITTED
----
4

BEGIN TRAN; DELETE t
----
affected 3

-- @b
SELECT COUNT(*) FROM t; SET LOCK_TIMEOUT 10; DELETE t
----
3
error 1222: Lock request time out period exceeded.

ROLLBACK; SELECT COUNT(*) FROM t
----
3

CREATE TABLE k (id int PRIMARY KEY)
----

INSERT k VALUES (1), (2); BEGIN TRAN; INSERT k VALUES (3); ROLLBACK; INSERT k VALUES (3); SELECT COUNT(*) FROM k
----
3

BEGIN TRAN; INSERT k VALUES (4); SAVE TRAN s; INSERT k VALUES (5); ROLLBACK TRAN s; INSERT k VALUES (5); COMMIT; SELECT COUNT(*) FROM k
----
5

INSERT k VALUES (4)
----
error 2627

SAVE TRAN x
----
error 628: Cannot issue SAVE TRANSACTION when there is no active transaction.

-- What would end the transaction leaves it uncommittable where a TRY catches it: it can be read in and rolled back.
SET XACT_ABORT ON
BEGIN TRAN
BEGIN TRY
    INSERT k VALUES (20)
    SAVE TRAN s
    SELECT 1 / 0
END TRY
BEGIN CATCH
    DECLARE @kept TABLE (n int)
    INSERT @kept SELECT id FROM k WHERE id = 20
    SELECT ERROR_NUMBER(), XACT_STATE(), @@TRANCOUNT, (SELECT n FROM @kept)
    ROLLBACK
    SELECT XACT_STATE(), @@TRANCOUNT
END CATCH
SET XACT_ABORT OFF
SELECT COUNT(*) FROM k WHERE id = 20
----
affected 1
affected 1
8134 | -1 | 1 | 20
0 | 0
0

SET XACT_ABORT ON
BEGIN TRAN
SAVE TRAN s
BEGIN TRY SELECT 1 / 0 END TRY BEGIN CATCH PRINT 'caught' END CATCH
SET XACT_ABORT OFF
INSERT k VALUES (20)
CREATE TABLE made (a int)
COMMIT
ROLLBACK TRAN s
SELECT @@TRANCOUNT
----
info: caught
error 3930
error 3930
error 3930
error 3931
1
error 3998: Uncommittable transaction is detected at the end of the batch. The transaction is rolled back.

SELECT XACT_STATE(), @@TRANCOUNT; SELECT COUNT(*) FROM k WHERE id = 20
----
0 | 0
0

-- A call that leaves its caller more or fewer transactions says so.
CREATE TABLE counted (n int)
----

CREATE PROCEDURE begins AS BEGIN TRANSACTION INSERT counted VALUES (1)
----

CREATE PROCEDURE ends AS ROLLBACK SELECT 'ended'
----

EXEC begins SELECT @@TRANCOUNT ROLLBACK
----
affected 1
error 266: Transaction count after EXECUTE indicates a mismatching number of BEGIN and COMMIT statements. Previous count = 0, current count = 1.
1

BEGIN TRANSACTION INSERT counted VALUES (2) EXEC ends SELECT @@ERROR, @@TRANCOUNT
----
affected 1
ended
error 266: Transaction count after EXECUTE indicates a mismatching number of BEGIN and COMMIT statements. Previous count = 1, current count = 0.
266 | 0

BEGIN TRANSACTION
BEGIN TRY EXEC ends INSERT counted VALUES (3) END TRY BEGIN CATCH SELECT ERROR_NUMBER() END CATCH
SELECT COUNT(*) FROM counted
----
ended
266
0

EXEC ('BEGIN TRANSACTION') ROLLBACK
EXEC sp_executesql N'BEGIN TRANSACTION' ROLLBACK
----
error 266: Transaction count after EXECUTE indicates a mismatching number of BEGIN and COMMIT statements. Previous count = 0, current count = 1.
error 266: Transaction count after EXECUTE indicates a mismatching number of BEGIN and COMMIT statements. Previous count = 0, current count = 1.

CREATE PROCEDURE quiet AS SET XACT_ABORT ON ROLLBACK
----

BEGIN TRANSACTION EXEC quiet SELECT @@TRANCOUNT
----
0

SET IMPLICIT_TRANSACTIONS ON
EXEC ('SELECT COUNT(*) FROM counted') SELECT @@TRANCOUNT ROLLBACK
SET IMPLICIT_TRANSACTIONS OFF
----
0
1
