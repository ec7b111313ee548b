SELECT 'a' || 'b' || N'c', 'n ' || 5, 1.5 || N' x', CAST('2024-01-31' AS date) || ''
----
abc | n 5 | 1.5 x | 2024-01-31

SELECT 'a' || NULL, NULL || NULL
----
NULL | NULL

SET CONCAT_NULL_YIELDS_NULL OFF; SELECT 'a' || NULL, 'a' + NULL; SET CONCAT_NULL_YIELDS_NULL ON
----
NULL | a

SELECT 0x01 || 0x0203
----
0x010203

SELECT 1 || 2
----
error 8117: Operand data type int is invalid for concat operator.

SELECT 'a' || 0x41
----
error 402: The data types varchar and varbinary are incompatible in the concat operator.

DECLARE @v varchar(10) = 'x'; SET @v ||= 'y'; SELECT @v ||= 'z'; SELECT @v
----
xyz

SELECT 1 + 2 || ' three'
----
3 three

CREATE TABLE c (a varchar(5), b AS a || '!', CHECK (a || 'x' <> 'bx')); INSERT c (a) VALUES ('q'); UPDATE c SET a ||= 'r'; SELECT * FROM c
----
qr | qr!

INSERT c (a) VALUES ('b')
----
error 547: The INSERT statement conflicted with the CHECK constraint "CK__c__22AA2998". The conflict occurred in database "master", table "dbo.c", column 'a'.

CREATE FUNCTION twice (@a int = 21, @b int) RETURNS int AS BEGIN RETURN ISNULL(@a, -1) * ISNULL(@b, 2) END
----

SELECT dbo.twice(DEFAULT, 2), dbo.twice(3, DEFAULT)
----
42 | 6
