SELECT 1 GOTO done SELECT 2 done: SELECT 3
----
1
3

DECLARE @i int = 0 again: SET @i += 1 IF @i < 3 GOTO again SELECT @i
----
3

-- Labels are found in whatever block they stand.
DECLARE @i int = 0
WHILE @i < 5 BEGIN SET @i += 1 IF @i = 2 GOTO out SELECT @i END
out: SELECT 'out', @i
----
1
out | 2

DECLARE @i int = 0
GOTO inside
WHILE @i < 3 BEGIN SET @i += 1 inside: SELECT @i END
SELECT 'end'
----
0
1
2
3
end

IF 1 = 0 BEGIN SELECT 'never' branch: SELECT 'in the branch' END ELSE GOTO branch
SELECT 'behind'
----
in the branch
behind

GOTO nosuch SELECT 1
----
error 133: A GOTO statement references the label 'nosuch' but the label has not been declared.

l: SELECT 1 L: SELECT 2
----
error 132: The label 'L' has already been declared. Label names must be unique within a query batch or stored procedure.

GOTO inside BEGIN TRY inside: SELECT 1 END TRY BEGIN CATCH SELECT 2 END CATCH
----
error 1026: GOTO cannot be used to jump into a TRY or CATCH scope.

BEGIN TRY SELECT 1 / 0 END TRY BEGIN CATCH GOTO failed END CATCH
SELECT 'not reached'
failed: SELECT 'failed', ERROR_NUMBER()
----
failed | NULL

CREATE PROCEDURE steps @n int AS
IF @n = 1 GOTO one
SELECT 'other' RETURN
one:
SELECT 'one' RETURN 5
----

EXEC steps 1 EXEC steps 2
----
one
other

CREATE PROCEDURE leads AS GOTO away RETURN
----
error 133: A GOTO statement references the label 'away' but the label has not been declared.

-- A label may follow any statement.
BEGIN TRAN COMMIT TRAN
a: SELECT 1 AS x FROM (SELECT 1 AS v) d
b: EXEC steps 2
c: PRINT 'c' RETURN
d: SELECT 2
----
1
other
info: c

-- EXEC of a name in a variable.
DECLARE @name sysname = 'steps', @status int
EXEC @name 2
EXEC @status = @name @n = 1 SELECT @status
SET @name = '[dbo].steps' EXEC @name 2
SET @name = 'sp_executesql' EXEC @name N'SELECT @v', N'@v int', @v = 7
----
other
one
5
other
7

DECLARE @name sysname = 'nosuch' EXEC @name EXEC @missing
----
error 137: Must declare the scalar variable "@missing".

DECLARE @name sysname = 'nosuch' EXEC @name
DECLARE @none sysname EXEC @none
----
error 2812: Could not find stored procedure 'nosuch'.
error 2812: Could not find stored procedure ''.

EXEC steps;1 2
----
other

EXEC steps;2 2
----
error 2812: Could not find stored procedure 'steps;2'.
