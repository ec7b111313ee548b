CREATE TABLE t (a int NOT NULL, b varchar(10) NULL); INSERT t VALUES (1, 'x')
----

SELECT 1 AS before SET XACT_ABORT ONN
----
error 102: Incorrect syntax near 'ONN'.

SET XACT_ABORT 1
----
error 102: Incorrect syntax near '1'.

SET QUOTED_IDENTIFIER 3
----
error 102: Incorrect syntax near '3'.

DECLARE @a int; SET a = 5; SELECT @a
----
error 195: 'a' is not a recognized SET option.

DELETE t; SET blah ON
----
error 195: 'blah' is not a recognized SET option.

SELECT COUNT(*) FROM t
----
1

SET NOCOUNT, XACT_ABORT, blah ON
----
error 195: 'blah' is not a recognized SET option.

SET STATISTICS IOO ON
----
error 195: 'IOO' is not a recognized SET option.

SET LOCK_TIMEOUT forever
----
error 102: Incorrect syntax near 'forever'.

SET DEADLOCK_PRIORITY LOWW
----
error 102: Incorrect syntax near 'LOWW'.

SET DEADLOCK_PRIORITY LOW; SET DEADLOCK_PRIORITY -5; SET LOCK_TIMEOUT -1; SET DATEFIRST 7; SET LANGUAGE us_english; SET TEXTSIZE 2147483647
----
info: Changed language setting to us_english.

GRANT SELCT ON t TO public
----
error 102: Incorrect syntax near 'SELCT'.

GRANT SELECT ON nosuch TO public
----
error 15151: Cannot find the object 'nosuch', because it does not exist or you do not have permission.

GRANT CONTROL ON SCHEMA::nosuch TO public
----
error 15151: Cannot find the schema 'nosuch', because it does not exist or you do not have permission.

GRANT SELECT, UPDATE (a, b) ON OBJECT::dbo.t TO public; GRANT VIEW DEFINITION TO public; GRANT CREATE TABLE, ALTER ANY SCHEMA TO guest; REVOKE ALL PRIVILEGES ON t FROM public
----

GRANT SELECT ON sys.objects TO public
----

CREATE DATABASE z COLLATEE Latin1_General_CI_AS
----
error 102: Incorrect syntax near 'COLLATEE'.

CREATE DATABASE x AS NONSENSE OF y
----
error 102: Incorrect syntax near 'NONSENSE'.

CREATE DATABASE snap AS SNAPSHOT OF master
----
error 40515

CREATE DATABASE snap ON (NAME = master, FILENAME = 'x.ss') AS SNAPSHOT OF master
----
error 40515

CREATE DATABASE ENCRYPTION KEY WITH ALGORITHM = AES_256 ENCRYPTION BY SERVER CERTIFICATE c
----
error 40515

DROP DATABASE ENCRYPTION KEY
----
error 40515

SELECT COUNT(*) FROM sys.databases WHERE name IN ('ENCRYPTION', 'snap', 'x', 'z')
----
0

ALTER TABLE t SET (LOCK_ESCALATON = AUTO)
----
error 155: 'LOCK_ESCALATON' is not a recognized ALTER TABLE option.

ALTER DATABASE master SET RECOVRY FULL
----
error 102: Incorrect syntax near 'RECOVRY'.

ALTER DATABASE master MODIFY NME = y
----
error 102: Incorrect syntax near 'NME'.

ALTER DATABASE SCOPED CONFIGURATION SET MAXDPO = 2
----
error 102: Incorrect syntax near 'MAXDPO'.

ALTER DATABASE master SET AUTO_CLOSE OFF, PAGE_VERIFY CHECKSUM WITH NO_WAIT; ALTER DATABASE master SET MULTI_USER; ALTER DATABASE SCOPED CONFIGURATION SET PARAMETER_SNIFFING = OFF
----

CREATE DATABASE other
----

ALTER DATABASE other COLLATE Chinese_PRC_CI_AS
----
error 40515
error 5069: ALTER DATABASE statement failed.

ALTER DATABASE other COLLATE SQL_Latin1_General_CP1_CI_AS
----

ALTER DATABASE other COLLATE Nonsense
----
error 448: Invalid collation 'Nonsense'.
error 5069: ALTER DATABASE statement failed.

ALTER DATABASE other MODIFY NAME = another
----
error 40515
error 5069: ALTER DATABASE statement failed.

ALTER DATABASE other SET READ_ONLY
----
error 40515
error 5069: ALTER DATABASE statement failed.

SELECT a FROM t OPTION (c 2)
----
error 102: Incorrect syntax near 'c'.

UPDATE t SET a = 2 OPTION (c 2)
----
error 102: Incorrect syntax near 'c'.

SELECT a FROM t OPTION (USE HINT ('NOT_A_HINT'))
----
error 10715: 'NOT_A_HINT' is not a valid hint.

SELECT a FROM t OPTION (RECOMPILE, HASH JOIN, FAST 10, MAXDOP 1, OPTIMIZE FOR UNKNOWN, USE HINT ('DISABLE_PARAMETER_SNIFFING'))
----
1

SELECT a FROM t WITH (ROWLOCK, )
----
error 102: Incorrect syntax near ')'.

SELECT a FROM t WITH ()
----
error 102: Incorrect syntax near ')'.

CREATE TABLE u (a int IDENTITY IDENTITY(5,1))
----
error 156: Incorrect syntax near the keyword 'IDENTITY'.

CREATE TABLE u (a int NULL NOT NULL)
----
error 8150: Multiple NULL constraints were specified for column 'a', table 'u'.

CREATE TABLE u (a int DEFAULT 1 DEFAULT 2)
----
error 8148: More than one column DEFAULT constraint specified for column 'a', table 'u'.

CREATE TABLE u ()
----
error 102: Incorrect syntax near ')'.

CREATE TABLE u (a int FILESTREAM)
----
error 40515

CREATE PROCEDURE p RETURN -5
----
error 156: Incorrect syntax near the keyword 'RETURN'.

CREATE FUNCTION f () RETURNS int AS RETURN 1
----
error 156: Incorrect syntax near the keyword 'RETURN'.

CREATE VIEW v WITH SCHEMABINDNG AS SELECT 1 AS a
----
error 102: Incorrect syntax near 'SCHEMABINDNG'.

CREATE INDEX ix ON t (a); ALTER INDEX ix ON t REBUILD PARTITION = 1 WITH (FILLFACTOR = 80)
----
error 155: 'FILLFACTOR' is not a recognized ALTER INDEX REBUILD PARTITION option.

CREATE INDEX ix ON t (a) WITH (LOB_COMPACTION = ON)
----
error 155: 'LOB_COMPACTION' is not a recognized CREATE INDEX option.

CREATE PARTITION FUNCTION pf (int) AS RANGE LEFT FOR VALUES (1); CREATE PARTITION SCHEME ps AS PARTITION pf ALL TO (PRIMARY)
----
error 156: Incorrect syntax near the keyword 'PRIMARY'.

CREATE TABEL u (a int)
----
error 343: Unknown object type 'TABEL' used in a CREATE, DROP, or ALTER statement.

DROP TABEL t
----
error 343: Unknown object type 'TABEL' used in a CREATE, DROP, or ALTER statement.

RAISERROR('x', 10, 1) WITH NOWIAT
----
error 102: Incorrect syntax near 'NOWIAT'.

COMMIT TRANSACTION WITH (NONSENSE)
----
error 102: Incorrect syntax near 'NONSENSE'.

CREATE TABLE u (a bogus.int)
----
error 2715: Column, parameter, or variable #1: Cannot find data type bogus.int.

SELECT DISTINCT 1 FROM t GROUP BY ALL a
----
error 40515

SELECT COUNT(*) FROM sys.objects WHERE name IN ('u', 'p', 'f', 'v')
----
0

GRANT SELECT (a, nosuch) ON t TO public
----
error 207: Invalid column name 'nosuch'.

SELECT t..a FROM t
----
error 102: Incorrect syntax near '.'.

SELECT master..t.a FROM master..t
----
1

CREATE SEQUENCE sq CYCLE CYCLE
----
error 102: Incorrect syntax near 'CYCLE'.

DECLARE c STATIC CURSOR FOR SELECT 1
----
error 102: Incorrect syntax near 'STATIC'.

DECLARE c CURSOR LOCAL GLOBAL FOR SELECT 1
----
error 1048: Conflicting cursor options LOCAL and GLOBAL.
