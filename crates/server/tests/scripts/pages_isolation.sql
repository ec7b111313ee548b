CREATE TABLE t (id int NOT NULL PRIMARY KEY, v int NOT NULL); INSERT t VALUES (1, 10), (2, 20)
CREATE TABLE u (id int NOT NULL); INSERT u VALUES (1)
----

-- @b
SET LOCK_TIMEOUT 0
----

-- @c
SET LOCK_TIMEOUT 0
----

-- UPDLOCK: others read, nobody changes, and nobody else takes it.
BEGIN TRAN; SELECT v FROM t WITH (UPDLOCK) WHERE id = 1
----
10

-- @b
SELECT v FROM t WHERE id = 1
----
10

-- @b
UPDATE t SET v = 0 WHERE id = 1
----
error 1222: Lock request time out period exceeded.

-- @b
SELECT v FROM t WITH (UPDLOCK) WHERE id = 1
----
error 1222: Lock request time out period exceeded.

-- @b
BEGIN TRAN; SELECT v FROM t WITH (HOLDLOCK) WHERE id = 1; ROLLBACK
----
10

ROLLBACK
----

-- XLOCK and TABLOCKX: nobody else locks it at all; who reads versions still reads.
BEGIN TRAN; SELECT COUNT(*) FROM t WITH (XLOCK)
----
2

-- @b
SELECT v FROM t WITH (TABLOCK) WHERE id = 1
----
error 1222: Lock request time out period exceeded.

-- @b
SELECT v FROM t WITH (READCOMMITTEDLOCK) WHERE id = 1
----
error 1222: Lock request time out period exceeded.

-- @b
SELECT v FROM t WITH (NOLOCK) WHERE id = 1
----
10

ROLLBACK; BEGIN TRAN; SELECT COUNT(*) FROM t (TABLOCKX)
SELECT resource_type, request_mode, request_status FROM sys.dm_tran_locks
----
2
OBJECT | X | GRANT

ROLLBACK
----

-- Without a transaction a lock goes with its statement.
SELECT COUNT(*) FROM t WITH (TABLOCKX); SELECT COUNT(*) FROM sys.dm_tran_locks
----
2
0

-- The hints of a view are those of its tables.
CREATE VIEW seen AS SELECT v FROM t
----

BEGIN TRAN; SELECT COUNT(*) FROM seen WITH (UPDLOCK)
SELECT request_mode FROM sys.dm_tran_locks
----
2
U

ROLLBACK
----

-- REPEATABLE READ keeps what it has read as it was; its own NOLOCK does not.
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; BEGIN TRAN; SELECT COUNT(*) FROM u WITH (NOLOCK); SELECT v FROM t WHERE id = 2
----
1
20

-- @b
DELETE u; SELECT @@ROWCOUNT
----
1

-- @b
INSERT u VALUES (1); UPDATE t SET v = 0 WHERE id = 2
----
error 1222: Lock request time out period exceeded.

SELECT v FROM t WHERE id = 2; ROLLBACK
----
20

-- SERIALIZABLE lets nobody add what a predicate would have found.
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; BEGIN TRAN; SELECT COUNT(*) FROM t WHERE id > 5
----
0

-- @b
INSERT t VALUES (6, 60)
----
error 1222: Lock request time out period exceeded.

COMMIT; SET TRANSACTION ISOLATION LEVEL READ COMMITTED
----

-- Tables in functions are read under the caller's level.
CREATE FUNCTION total() RETURNS int AS BEGIN RETURN (SELECT SUM(v) FROM t) END
----

SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; BEGIN TRAN; SELECT dbo.total()
----
30

-- @b
UPDATE t SET v = v + 1
----
error 1222: Lock request time out period exceeded.

COMMIT; SET TRANSACTION ISOLATION LEVEL READ COMMITTED
----

-- NOWAIT is a time-out of nothing.
BEGIN TRAN; UPDATE t SET v = v + 1
----

-- @c
SET LOCK_TIMEOUT 60000; SELECT v FROM t WITH (UPDLOCK, NOWAIT) WHERE id = 1
----
error 1222: Lock request time out period exceeded.

-- @c
UPDATE t WITH (NOWAIT) SET v = 0
----
error 1222: Lock request time out period exceeded.

-- @b
-- READPAST leaves out the rows in pages that others have locked.
SELECT COUNT(*) FROM t WITH (READPAST); DELETE t WITH (READPAST); SELECT @@ROWCOUNT; SELECT COUNT(*) FROM t
----
0
0
2

ROLLBACK
----

-- @b
SELECT COUNT(*) FROM t WITH (READPAST)
----
2

SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; SELECT COUNT(*) FROM t WITH (READPAST)
----
error 650: You can only specify the READPAST lock in the READ COMMITTED or REPEATABLE READ isolation levels.

SET TRANSACTION ISOLATION LEVEL READ COMMITTED
----

-- What contradicts itself, and what is no hint.
SELECT * FROM t WITH (NOLOCK, UPDLOCK)
----
error 1047: Conflicting locking hints specified.

SELECT * FROM t WITH (HOLDLOCK, READCOMMITTED)
----
error 1047: Conflicting locking hints specified.

UPDATE t WITH (NOLOCK) SET v = 1
----
error 1065: The NOLOCK and READUNCOMMITTED lock hints are not allowed for target tables of INSERT, UPDATE, DELETE or MERGE statements.

SELECT * FROM t WITH (LOCKED)
----
error 321: "LOCKED" is not a recognized table hints option. If it is intended as a parameter to a table-valued function or to the CHANGETABLE function, ensure that your database compatibility mode is set to 90.

SELECT COUNT(*) FROM t WITH (INDEX(1), FORCESEEK, ROWLOCK); SELECT COUNT(*) FROM t AS x (NOLOCK); INSERT t WITH (ROWLOCK, UPDLOCK, HOLDLOCK) VALUES (3, 30); DELETE t WHERE id = 3
----
2
2

-- SNAPSHOT needs leave: master has it from the start, others have not.
CREATE DATABASE shop
----

SELECT name, snapshot_isolation_state_desc, is_read_committed_snapshot_on FROM sys.databases WHERE name IN ('master', 'tempdb', 'shop')
----
master | ON | 1
tempdb | OFF | 1
shop | OFF | 1

CREATE TABLE shop.dbo.item (id int NOT NULL PRIMARY KEY, n int NOT NULL); INSERT shop.dbo.item VALUES (1, 1)
----

SET TRANSACTION ISOLATION LEVEL SNAPSHOT; BEGIN TRAN; SELECT n FROM shop.dbo.item
----
error 3952: Snapshot isolation transaction failed accessing database 'shop' because snapshot isolation is not allowed in this database. Use ALTER DATABASE to allow snapshot isolation.

SELECT @@TRANCOUNT; INSERT shop.dbo.item VALUES (2, 2)
----
0
error 3952: Snapshot isolation transaction failed accessing database 'shop' because snapshot isolation is not allowed in this database. Use ALTER DATABASE to allow snapshot isolation.

ALTER DATABASE shop SET ALLOW_SNAPSHOT_ISOLATION ON; ALTER DATABASE shop SET READ_COMMITTED_SNAPSHOT OFF WITH ROLLBACK IMMEDIATE
SELECT snapshot_isolation_state, snapshot_isolation_state_desc, is_read_committed_snapshot_on FROM sys.databases WHERE name = 'shop'
----
1 | ON | 0

BEGIN TRAN; SELECT n FROM shop.dbo.item
----
1

-- @b
INSERT shop.dbo.item VALUES (3, 3); UPDATE shop.dbo.item SET n = 9 WHERE id = 1; SELECT COUNT(*) FROM shop.dbo.item
----
2

SELECT id, n FROM shop.dbo.item; SELECT COUNT(*) FROM shop.dbo.item
----
1 | 1
1

-- What another one has changed since is not changed.
UPDATE shop.dbo.item SET n = n + 1 WHERE id = 1
----
error 3960: Snapshot isolation transaction aborted due to update conflict. You cannot use snapshot isolation to access table 'dbo.item' directly or indirectly in database 'shop' to update, delete, or insert the row that has been modified or deleted by another transaction. Retry the transaction or change the isolation level for the update/delete statement.

SELECT @@TRANCOUNT; SELECT id, n FROM shop.dbo.item
----
0
1 | 9
3 | 3

-- Its own changes show.
BEGIN TRAN; UPDATE shop.dbo.item SET n = n + 1 WHERE id = 1; SELECT n FROM shop.dbo.item WHERE id = 1; COMMIT; SELECT n FROM shop.dbo.item WHERE id = 1
----
10
10

-- The state is that of the first reading, not of BEGIN TRAN.
BEGIN TRAN
----

-- @b
UPDATE shop.dbo.item SET n = 11 WHERE id = 1
----

SELECT n FROM shop.dbo.item WHERE id = 1; COMMIT
----
11

-- A table that is had alone must be as it was, too.
BEGIN TRAN; SELECT COUNT(*) FROM shop.dbo.item
----
2

-- @b
UPDATE shop.dbo.item SET n = 12 WHERE id = 1
----

DELETE shop.dbo.item WITH (TABLOCKX)
----
error 3960: Snapshot isolation transaction aborted due to update conflict. You cannot use snapshot isolation to access table 'dbo.item' directly or indirectly in database 'shop' to update, delete, or insert the row that has been modified or deleted by another transaction. Retry the transaction or change the isolation level for the update/delete statement.

-- References are checked against what is there now.
CREATE TABLE parent (id int PRIMARY KEY); CREATE TABLE child (id int PRIMARY KEY, p int REFERENCES parent (id)); INSERT parent VALUES (1), (2)
----

BEGIN TRAN; SELECT COUNT(*) FROM child
----
0

-- @b
INSERT child VALUES (1, 1)
----

DELETE parent WHERE id = 1
----
error 547

SELECT COUNT(*) FROM child; ROLLBACK
----
0

-- Definitions have no versions.
BEGIN TRAN; SELECT COUNT(*) FROM t
----
2

-- @b
ALTER TABLE u ADD more int NULL
----

SELECT * FROM u
----
error 3961: Snapshot isolation transaction failed in database 'master' because the object accessed by the statement has been modified by a DDL statement in another concurrent transaction since the start of this transaction. It is disallowed because the metadata is not versioned. A concurrent update to metadata can lead to inconsistency if mixed with snapshot isolation.

BEGIN TRAN; CREATE INDEX i ON t (v)
----
error 3964: Transaction failed in database 'master' because this DDL statement is not allowed inside a snapshot isolation transaction. Since metadata is not versioned, a metadata change can lead to inconsistency if mixed within snapshot isolation.

SELECT @@TRANCOUNT; BEGIN TRAN; CREATE TABLE made (id int PRIMARY KEY); INSERT made VALUES (1); SELECT COUNT(*) FROM made; COMMIT
----
0
1

-- A transaction that began otherwise does not become one.
SET TRANSACTION ISOLATION LEVEL READ COMMITTED; BEGIN TRAN; SELECT COUNT(*) FROM t; SET TRANSACTION ISOLATION LEVEL SNAPSHOT; SELECT COUNT(*) FROM t
----
2
error 3951: Transaction failed in database 'master' because the statement was run under snapshot isolation but the transaction did not start in snapshot isolation. You cannot change the isolation level of the transaction to snapshot after the transaction has started unless the transaction was originally started under snapshot isolation level.

SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SELECT @@TRANCOUNT
----
0

BEGIN TRAN; ALTER DATABASE shop SET ALLOW_SNAPSHOT_ISOLATION OFF
----
error 226: ALTER DATABASE statement not allowed within multi-statement transaction.
error 5069: ALTER DATABASE statement failed.

ROLLBACK; ALTER DATABASE tempdb SET ALLOW_SNAPSHOT_ISOLATION ON
----
error 5058: Option 'ALLOW_SNAPSHOT_ISOLATION' cannot be set in database 'tempdb'.
error 5069: ALTER DATABASE statement failed.

-- @b
-- What others are doing.
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; BEGIN TRAN; BEGIN TRAN
----

SELECT transaction_isolation_level, open_transaction_count, status FROM sys.dm_exec_sessions WHERE open_transaction_count > 0
----
4 | 2 | sleeping
