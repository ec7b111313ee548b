-- Blanks and zeros at the end of values, as the column was defined ("SET ANSI_PADDING").
SET ANSI_PADDING OFF
----

SELECT SESSIONPROPERTY('ANSI_PADDING'), @@OPTIONS & 16, (SELECT ansi_padding FROM sys.dm_exec_sessions WHERE session_id = @@SPID)
----
0 | 0 | 0

CREATE TABLE dbo.trimmed (
  id int NOT NULL, c char(6), c_all char(6) NOT NULL, v varchar(6), v_all varchar(6) NOT NULL, v_max varchar(max), n nchar(6), nv nvarchar(6),
  b binary(4), b_all binary(4) NOT NULL, vb varbinary(4), vb_max varbinary(max), CONSTRAINT trimmed_key UNIQUE (c, vb, id))
----

SET ANSI_PADDING ON
----

CREATE TABLE dbo.padded (
  id int NOT NULL, c char(6), c_all char(6) NOT NULL, v varchar(6), v_all varchar(6) NOT NULL, v_max varchar(max), n nchar(6), nv nvarchar(6),
  b binary(4), b_all binary(4) NOT NULL, vb varbinary(4), vb_max varbinary(max))
----

INSERT INTO padded VALUES (1, 'ab', 'ab', 'ab  ', 'ab  ', 'ab  ', 'ab', 'ab  ', 0x01, 0x01, 0x0100, 0x0100),
  (2, '', '', '  ', '  ', '', '', '', 0x, 0x, 0x0000, 0x00), (3, NULL, ' x', NULL, ' x ', NULL, NULL, NULL, NULL, 0x0001, NULL, NULL)
----
affected 3

INSERT INTO trimmed SELECT * FROM padded
----
affected 3

SELECT id, DATALENGTH(c), DATALENGTH(c_all), DATALENGTH(v), DATALENGTH(v_all), DATALENGTH(v_max), DATALENGTH(n), DATALENGTH(nv), DATALENGTH(b),
  DATALENGTH(b_all), DATALENGTH(vb), DATALENGTH(vb_max) FROM padded ORDER BY id
----
1 | 6 | 6 | 4 | 4 | 4 | 12 | 8 | 4 | 4 | 2 | 2
2 | 6 | 6 | 2 | 2 | 0 | 12 | 0 | 4 | 4 | 2 | 1
3 | NULL | 6 | NULL | 3 | NULL | NULL | NULL | NULL | 4 | NULL | NULL

SELECT id, DATALENGTH(c), DATALENGTH(c_all), DATALENGTH(v), DATALENGTH(v_all), DATALENGTH(v_max), DATALENGTH(n), DATALENGTH(nv), DATALENGTH(b),
  DATALENGTH(b_all), DATALENGTH(vb), DATALENGTH(vb_max) FROM trimmed ORDER BY id
----
1 | 2 | 6 | 2 | 2 | 4 | 12 | 8 | 1 | 4 | 1 | 2
2 | 0 | 6 | 0 | 0 | 0 | 12 | 0 | 0 | 4 | 0 | 1
3 | NULL | 6 | NULL | 2 | NULL | NULL | NULL | NULL | 4 | NULL | NULL

-- Found by the key, however the value is written.
SELECT id, c + '|', v + '|', vb FROM trimmed WHERE c = 'ab   '
----
1 | ab| | ab| | 0x01

SELECT id FROM trimmed WHERE c = 'ab' AND vb = 0x01
----
1

UPDATE trimmed SET c = 'xy    ', vb = 0x0A000000 WHERE id = 3
----
affected 1

SELECT DATALENGTH(c), vb FROM trimmed WHERE id = 3
----
2 | 0x0A

SELECT t.name, c.name, c.is_ansi_padded FROM sys.columns c JOIN sys.tables t ON t.object_id = c.object_id WHERE t.name IN ('trimmed', 'padded') ORDER BY t.name DESC, c.column_id
----
trimmed | id | 0
trimmed | c | 0
trimmed | c_all | 0
trimmed | v | 0
trimmed | v_all | 0
trimmed | v_max | 1
trimmed | n | 1
trimmed | nv | 1
trimmed | b | 0
trimmed | b_all | 0
trimmed | vb | 0
trimmed | vb_max | 1
padded | id | 0
padded | c | 1
padded | c_all | 1
padded | v | 1
padded | v_all | 1
padded | v_max | 1
padded | n | 1
padded | nv | 1
padded | b | 1
padded | b_all | 1
padded | vb | 1
padded | vb_max | 1

-- What is altered is padded.
ALTER TABLE trimmed DROP CONSTRAINT trimmed_key
----

ALTER TABLE trimmed ALTER COLUMN c char(6)
----

SELECT id, DATALENGTH(c), DATALENGTH(v) FROM trimmed ORDER BY id
----
1 | 6 | 2
2 | 6 | 0
3 | 6 | NULL

SET ANSI_PADDING OFF; SELECT c, v, vb INTO dbo.copied FROM padded WHERE id = 1; SET ANSI_PADDING ON
----
affected 1

SELECT DATALENGTH(c), DATALENGTH(v), DATALENGTH(vb) FROM copied
----
2 | 2 | 1
