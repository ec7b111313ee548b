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
