IF 1 = 0 CREATE CREDENTIAL c WITH IDENTITY = 'i'; SELECT 'the branch is not taken'
----
the branch is not taken

SELECT 'before'; CREATE CREDENTIAL c WITH IDENTITY = 'i', SECRET = 's'; SELECT 'behind'
----
before
error 40515: CREATE CREDENTIAL is not supported by this server.
behind

SELECT 'nothing runs'; CREATE CREDENTIAL c WITH IDENTITY 'i'
----
error 102: Incorrect syntax near 'i'.

SET PARSEONLY ON; SELECT * FROM nowhere FOR SYSTEM_TIME ALL; BEGIN DIALOG @h FROM SERVICE a TO SERVICE 'b'; ALTER AVAILABILITY GROUP g JOIN; SET PARSEONLY OFF
----

CREATE PROCEDURE of_both @which int AS BEGIN
  IF @which = 1 SELECT 'served'
  ELSE IF @which = 2 SEND ON CONVERSATION @which MESSAGE TYPE m (N'x')
  ELSE END CONVERSATION @which WITH CLEANUP
END
----

EXEC of_both 1
----
served

EXEC of_both 2
----
error 40515: SEND ON CONVERSATION is not supported by this server.

EXEC of_both 3
----
error 40515: END CONVERSATION is not supported by this server.

CREATE PROCEDURE misspelt AS CREATE CREDENTIAL c WTH IDENTITY = 'i'
----
error 102: Incorrect syntax near 'WTH'.

BEGIN TRY CREATE EXTERNAL MODEL m WITH (LOCATION = 'l', MODEL_TYPE = EMBEDDINGS) END TRY BEGIN CATCH SELECT ERROR_NUMBER() AS number, ERROR_MESSAGE() AS text END CATCH
----
40515 | CREATE EXTERNAL MODEL is not supported by this server.

SELECT a FROM (VALUES (1)) AS t (a) WHERE a *= 1
----
error 4147: The query uses non-ANSI outer join operators ("*=" or "=*"). To run this query without modification, please set the compatibility level for current database to 80, using the SET COMPATIBILITY_LEVEL option of ALTER DATABASE. It is strongly recommended to rewrite the query using ANSI outer join operators (LEFT OUTER JOIN, RIGHT OUTER JOIN). In the future versions of SQL Server, non-ANSI join operators will not be supported even in backward-compatibility modes.

SELECT 1 WHERE CONTAINS(*, 'x')
----
error 40515: CONTAINS or FREETEXT is not supported by this server.

CREATE TABLE n (a int NOT NULL NULL)
----
error 8150: Multiple NULL constraints were specified for column 'a', table 'n'.

ALTER INDEX i ON t PAUSE
----
error 10638: ALTER INDEX 'PAUSE' failed. There is no pending resumable index operation for the index 'i' on 't'.
