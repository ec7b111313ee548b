-- DBCC CHECKIDENT: what is told, and what the next value is.
CREATE TABLE t (id int NOT NULL IDENTITY (10, 5), a int NULL)
DBCC CHECKIDENT ('t', NORESEED)
----
info: Checking identity information: current identity value 'NULL', current column value 'NULL'.
info: DBCC execution completed. If DBCC printed error messages, contact your system administrator.

-- Before the first row the value itself comes next, later the one behind it.
DBCC CHECKIDENT ('t', RESEED, 100) WITH NO_INFOMSGS
INSERT t (a) VALUES (1), (2)
DBCC CHECKIDENT ('t', RESEED, 200)
INSERT t (a) VALUES (3)
SELECT id FROM t ORDER BY a
----
info: Checking identity information: current identity value '105'.
info: DBCC execution completed. If DBCC printed error messages, contact your system administrator.
100
105
205

DELETE t
DBCC CHECKIDENT (t)
INSERT t (a) VALUES (4)
SELECT id, IDENT_CURRENT('t') FROM t
----
info: Checking identity information: current identity value '205', current column value 'NULL'.
info: DBCC execution completed. If DBCC printed error messages, contact your system administrator.
210 | 210

-- Without a value it goes behind the rows, never back to them; a value may go back.
DBCC CHECKIDENT ('dbo.t', RESEED, 15) WITH NO_INFOMSGS
DBCC CHECKIDENT ('dbo.t', RESEED) WITH NO_INFOMSGS
INSERT t (a) VALUES (5)
DBCC CHECKIDENT ('dbo.t', RESEED, -20) WITH NO_INFOMSGS
INSERT t (a) VALUES (6)
DBCC CHECKIDENT ('dbo.t', NORESEED)
SELECT id FROM t WHERE a > 4 ORDER BY a
----
info: Checking identity information: current identity value '-15', current column value '215'.
info: DBCC execution completed. If DBCC printed error messages, contact your system administrator.
215
-15

TRUNCATE TABLE t
INSERT t (a) VALUES (7)
SELECT id FROM t
----
10

-- As long as there was no row, the last value that was set is the first row's.
CREATE TABLE unused (id int IDENTITY, a int)
DBCC CHECKIDENT ('unused', RESEED, 1) WITH NO_INFOMSGS
DBCC CHECKIDENT ('unused', RESEED, 1) WITH NO_INFOMSGS
INSERT unused OUTPUT inserted.id VALUES (1)
DELETE unused
DBCC CHECKIDENT ('unused', RESEED, 1) WITH NO_INFOMSGS
DBCC CHECKIDENT ('unused', RESEED, 1) WITH NO_INFOMSGS
INSERT unused OUTPUT inserted.id VALUES (2)
TRUNCATE TABLE unused
DBCC CHECKIDENT ('unused', RESEED, 7) WITH NO_INFOMSGS
DBCC CHECKIDENT ('unused', RESEED, 8) WITH NO_INFOMSGS
INSERT unused OUTPUT inserted.id VALUES (3)
----
1
2
8

CREATE TABLE plain (id int); DBCC CHECKIDENT ('plain')
----
error 7997: 'plain' does not contain an identity column.

DBCC CHECKIDENT ('nothing')
----
error 2501

DBCC CHECKIDENT ('t', RESEEDED)
----
error 2560

-- DBCC CHECKCONSTRAINTS: rows that break what was not checked.
CREATE TABLE parent (x int NOT NULL, y varchar(5) NOT NULL, PRIMARY KEY (x, y))
CREATE TABLE child (id int NOT NULL CONSTRAINT ck_id CHECK (id > 0), x int NULL, y varchar(5) NULL, CONSTRAINT ck_two CHECK (x < 100 OR y IS NULL), CONSTRAINT fk_child FOREIGN KEY (x, y) REFERENCES parent (x, y))
INSERT parent VALUES (1, 'a')
INSERT child VALUES (1, 1, 'A'), (2, NULL, 'z'), (3, 7, NULL)
DBCC CHECKCONSTRAINTS
----
info: DBCC execution completed. If DBCC printed error messages, contact your system administrator.

ALTER TABLE child NOCHECK CONSTRAINT ALL
INSERT child VALUES (-1, 200, 'it''s'), (-2, NULL, NULL)
DBCC CHECKCONSTRAINTS ('child') WITH NO_INFOMSGS
----

ALTER TABLE child CHECK CONSTRAINT ck_id
DBCC CHECKCONSTRAINTS ('child') WITH NO_INFOMSGS
----
[Table nvarchar(517) null, Constraint nvarchar(258) null, Where nvarchar(max) null]
[dbo].[child] | [ck_id] | [id] = '-1'
[dbo].[child] | [ck_id] | [id] = '-2'

DBCC CHECKCONSTRAINTS (child) WITH ALL_CONSTRAINTS, ALL_ERRORMSGS, NO_INFOMSGS
DBCC CHECKCONSTRAINTS (fk_child) WITH NO_INFOMSGS
----
[Table nvarchar(517) null, Constraint nvarchar(258) null, Where nvarchar(max) null]
[dbo].[child] | [ck_id] | [id] = '-1'
[dbo].[child] | [ck_id] | [id] = '-2'
[dbo].[child] | [ck_two] | [x] = '200' AND [y] = 'it''s'
[dbo].[child] | [fk_child] | [x] = '200' AND [y] = 'it''s'
[Table nvarchar(517) null, Constraint nvarchar(258) null, Where nvarchar(max) null]
[dbo].[child] | [fk_child] | [x] = '200' AND [y] = 'it''s'

DBCC CHECKCONSTRAINTS ('nothing')
----
error 2501

DBCC SHRINKFILE (1)
----
error 40515: DBCC SHRINKFILE, since data files are never made smaller, is not supported by this server.

-- There are no statistics: what updates them is accepted, and what follows it is run.
UPDATE STATISTICS t
SELECT 1
UPDATE STATISTICS dbo.t ix WITH SAMPLE 10 PERCENT, NORECOMPUTE SELECT 2
UPDATE STATISTICS t (a, b) WITH FULLSCAN, MAXDOP = 2
EXEC sp_updatestats
----
1
2
info: Statistics for all tables have been updated.

UPDATE STATISTICS nothing
----
error 2706: Table 'nothing' does not exist.

SELECT FILEGROUP_NAME(1), FILEGROUP_ID('primary'), FILEGROUP_NAME(77), FILEGROUP_ID('nothing')
----
PRIMARY | 1 | NULL | NULL

DBCC TRACEON (1222, -1)
DBCC TRACEON (3604, 1204) WITH NO_INFOMSGS
DBCC TRACESTATUS WITH NO_INFOMSGS
DBCC TRACEOFF (1222, -1) WITH NO_INFOMSGS
DBCC TRACEOFF (1204) WITH NO_INFOMSGS
DBCC TRACESTATUS (-1) WITH NO_INFOMSGS
DBCC TRACESTATUS (1222, 3604) WITH NO_INFOMSGS
----
info: DBCC execution completed. If DBCC printed error messages, contact your system administrator.
1204 | 1 | 0 | 1
1222 | 1 | 1 | 0
3604 | 1 | 0 | 1
3604 | 1 | 0 | 1
1222 | 0 | 0 | 0
3604 | 1 | 0 | 1

DBCC TRACEON
----
error 2526: Incorrect DBCC statement. Check the documentation for the correct DBCC syntax and options.

DBCC TRACEON ('x')
----
error 2526: Incorrect DBCC statement. Check the documentation for the correct DBCC syntax and options.
