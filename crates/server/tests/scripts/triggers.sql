CREATE TABLE item (id int IDENTITY(10, 1) PRIMARY KEY, name varchar(10) NOT NULL, n int DEFAULT 7)
CREATE TABLE audit (seq int IDENTITY(1, 1), what varchar(40), id int NULL, old int NULL, new int NULL)
----

CREATE TRIGGER item_added ON item AFTER INSERT AS
INSERT audit (what, id, new) SELECT 'added ' + name, id, n FROM inserted
----

INSERT item (name) VALUES ('pen'), ('cup')
SELECT @@IDENTITY AS any_scope, SCOPE_IDENTITY() AS own, @@ROWCOUNT AS one
SELECT what, id, new FROM audit ORDER BY id
----
2 | 11 | 2
added pen | 10 | 7
added cup | 11 | 7

CREATE TRIGGER item_changed ON dbo.item FOR UPDATE, DELETE AS
SET NOCOUNT ON
IF UPDATE(n) INSERT audit (what, id, old, new) SELECT 'n', d.id, d.n, i.n FROM deleted AS d JOIN inserted AS i ON i.id = d.id
IF NOT UPDATE(n) AND UPDATE(name) INSERT audit (what) VALUES ('name alone')
IF NOT EXISTS (SELECT * FROM inserted) INSERT audit (what, id) SELECT 'gone', id FROM deleted
----

TRUNCATE TABLE audit
UPDATE item SET n = n + 1 WHERE id = 10
UPDATE item SET name = 'PEN' WHERE id = 10
DELETE item WHERE id = 11
UPDATE item SET n = 0 WHERE id = 99
SELECT what, id, old, new FROM audit ORDER BY seq
----
n | 10 | 7 | 8
name alone | NULL | NULL | NULL
gone | 11 | NULL | NULL

SELECT t.name, OBJECT_NAME(t.parent_id), t.is_disabled, t.is_instead_of_trigger, e.type_desc FROM sys.triggers AS t JOIN sys.trigger_events AS e ON e.object_id = t.object_id ORDER BY t.name, e.type
----
item_added | item | 0 | 0 | INSERT
item_changed | item | 0 | 0 | UPDATE
item_changed | item | 0 | 0 | DELETE

SELECT name, type, OBJECT_NAME(parent_object_id) FROM sys.objects WHERE type = 'TR' ORDER BY name
SELECT CASE WHEN OBJECT_ID('item_added', 'TR') IS NULL THEN 'no' ELSE 'yes' END
----
item_added | TR | item
item_changed | TR | item
yes

INSERT item (name) OUTPUT inserted.id VALUES ('x')
----
error 334: The target table 'item' of the DML statement cannot have any enabled triggers if the statement contains an OUTPUT clause without INTO clause.

DECLARE @ids TABLE (id int)
INSERT item (name) OUTPUT inserted.id INTO @ids VALUES ('out')
SELECT id FROM @ids
----
12

EXEC sp_helptrigger 'dbo.item', 'DELETE'
----
item_changed | dbo | 1 | 1 | 0 | 1 | 0 | dbo

DISABLE TRIGGER item_added ON item
INSERT item (name) OUTPUT inserted.id VALUES ('quiet')
SELECT COUNT(*) FROM audit WHERE what = 'added quiet'
----
13
0

ALTER TABLE item ENABLE TRIGGER ALL
ALTER TABLE item DISABLE TRIGGER item_changed
SELECT name, is_disabled FROM sys.triggers ORDER BY name
----
item_added | 0
item_changed | 1

ENABLE TRIGGER item_changed ON item;
DISABLE TRIGGER nosuch ON item;
----
error 15151

CREATE TRIGGER item_added ON item AFTER INSERT AS SELECT 1
----
error 2714

CREATE TRIGGER bad ON nosuch AFTER INSERT AS SELECT 1
----
error 8197: The object 'nosuch' does not exist or is invalid for this operation.

CREATE TRIGGER wide ON DATABASE FOR CREATE_TABLE AS SELECT 1
----
error 40515

CREATE TABLE guarded (a int, b int)
----

CREATE TRIGGER guard ON guarded AFTER INSERT, UPDATE AS
IF EXISTS (SELECT * FROM inserted WHERE a < 0)
BEGIN
  RAISERROR('no negatives', 16, 1)
  ROLLBACK TRANSACTION
END
----

INSERT guarded VALUES (1, 1)
INSERT guarded VALUES (-1, 1)
SELECT 'never'
----
error 50000: no negatives
error 3609: The transaction ended in the trigger. The batch has been aborted.

SELECT a FROM guarded
SELECT @@TRANCOUNT
----
1
0

BEGIN TRAN
INSERT guarded VALUES (2, 2)
INSERT guarded VALUES (-2, 2)
----
error 50000
error 3609

SELECT COUNT(*), @@TRANCOUNT FROM guarded
----
1 | 0

BEGIN TRY
INSERT guarded VALUES (-3, 3)
END TRY
BEGIN CATCH SELECT ERROR_NUMBER(), ERROR_MESSAGE(), ERROR_PROCEDURE() END CATCH
SELECT COUNT(*) FROM guarded
----
50000 | no negatives | guard
1

ALTER TRIGGER guard ON guarded AFTER INSERT AS
IF EXISTS (SELECT * FROM inserted WHERE a < 0) THROW 50001, 'thrown', 1
PRINT CONCAT('level ', TRIGGER_NESTLEVEL(), ' of ', @@TRANCOUNT)
----

INSERT guarded VALUES (4, 4)
INSERT guarded VALUES (-4, 4)
SELECT 'never'
----
info: level 1 of 1
error 50001: thrown

SELECT a FROM guarded ORDER BY a
----
1
4

CREATE TABLE tree (id int PRIMARY KEY, parent int NULL)
----

CREATE TRIGGER tree_self ON tree AFTER INSERT AS
INSERT tree SELECT id + 100, id FROM inserted WHERE id < 1000
----

INSERT tree VALUES (1, NULL)
SELECT id, parent FROM tree ORDER BY id
----
1 | NULL
101 | 1

CREATE TABLE ping (a int)
CREATE TABLE pong (a int)
----

CREATE TRIGGER to_pong ON ping AFTER INSERT AS INSERT pong SELECT a + 1 FROM inserted
----

CREATE TRIGGER to_ping ON pong AFTER INSERT AS INSERT ping SELECT a + 1 FROM inserted
----

INSERT ping VALUES (1)
----
error 217: Maximum stored procedure, function, trigger, or view nesting level exceeded (limit 32).

SELECT (SELECT COUNT(*) FROM ping), (SELECT COUNT(*) FROM pong)
----
0 | 0

CREATE TABLE cols (a int, b int, c int)
----

CREATE TRIGGER cols_mask ON cols AFTER UPDATE AS SELECT COLUMNS_UPDATED() AS mask
----

INSERT cols VALUES (1, 2, 3)
UPDATE cols SET a = 1, c = 4
UPDATE cols SET b = 1
----
0x05
0x02

CREATE TRIGGER cols_writes ON cols AFTER INSERT AS DELETE inserted
----

INSERT cols VALUES (1, 2, 3)
----
error 286: The logical tables INSERTED and DELETED cannot be updated.

DROP TRIGGER cols_writes
DROP TRIGGER IF EXISTS nosuch
IF 1 = 0 DROP TRIGGER nosuch
DROP TRIGGER nosuch
----
error 3701: Cannot drop the trigger 'nosuch', because it does not exist or you do not have permission.

CREATE TABLE parent (id int PRIMARY KEY)
CREATE TABLE child (id int, parent_id int REFERENCES parent ON DELETE CASCADE)
INSERT parent VALUES (1), (2)
INSERT child VALUES (10, 1), (11, 1), (20, 2)
----

CREATE TRIGGER child_gone ON child AFTER DELETE AS SELECT COUNT(*) AS gone FROM deleted
----

DELETE parent WHERE id = 1
----
2

MERGE item AS t USING (VALUES (10, 'ten'), (50, 'new')) AS s (id, name) ON t.id = s.id
WHEN MATCHED THEN UPDATE SET name = s.name, n = 5
WHEN NOT MATCHED THEN INSERT (name, n) VALUES (s.name, 9);
SELECT what, old, new FROM audit WHERE what IN ('added new', 'n') AND new IN (5, 9) ORDER BY new
----
n | 8 | 5
added new | NULL | 9

CREATE VIEW both AS SELECT i.id, i.name, g.b FROM item AS i LEFT JOIN guarded AS g ON g.a = i.id
----

CREATE TRIGGER both_in ON both INSTEAD OF INSERT AS
INSERT item (name, n) SELECT UPPER(name), 1 FROM inserted
----

CREATE TRIGGER both_up ON both INSTEAD OF UPDATE AS
UPDATE i SET name = n.name FROM item AS i JOIN inserted AS n ON n.id = i.id JOIN deleted AS d ON d.id = i.id AND d.name <> n.name
----

CREATE TRIGGER both_del ON both INSTEAD OF DELETE AS
DELETE item WHERE id IN (SELECT id FROM deleted)
----

INSERT both (name) VALUES ('view')
UPDATE both SET name = name + '!' WHERE name = 'VIEW'
SELECT name, n FROM item WHERE name LIKE 'VIEW%'
DELETE FROM both WHERE name = 'VIEW!'
SELECT COUNT(*) FROM item WHERE name LIKE 'VIEW%'
----
VIEW! | 1
0

CREATE TRIGGER both_again ON both INSTEAD OF INSERT AS SELECT 1
----
error 2111: Cannot create trigger 'both_again' on table 'both' because an INSTEAD OF INSERT trigger already exists on this object.

CREATE TRIGGER both_after ON both AFTER INSERT AS SELECT 1
----
error 8197

CREATE TABLE soft (id int IDENTITY PRIMARY KEY, name varchar(10) NOT NULL, gone bit NOT NULL DEFAULT 0)
INSERT soft (name) VALUES ('a'), ('b')
----

CREATE TRIGGER soft_del ON soft INSTEAD OF DELETE AS UPDATE soft SET gone = 1 WHERE id IN (SELECT id FROM deleted)
----

CREATE TRIGGER soft_in ON soft INSTEAD OF INSERT AS INSERT soft (name, gone) SELECT ISNULL(name, 'none'), gone FROM inserted
----

DELETE soft WHERE name = 'a'
INSERT soft (name) VALUES (NULL)
SELECT id, name, gone FROM soft ORDER BY id
----
1 | a | 1
2 | b | 0
3 | none | 0

INSERT INTO guarded EXEC ('SELECT 8, 8')
----
info: level 1 of 1

DROP VIEW both
DROP TABLE item
SELECT name FROM sys.triggers WHERE name LIKE 'both%' OR name LIKE 'item%'
----

BEGIN TRAN
EXEC ('CREATE TRIGGER rolled ON cols AFTER DELETE AS SELECT 5')
ROLLBACK
DELETE cols
SELECT COUNT(*) FROM sys.triggers WHERE name = 'rolled'
----
0

CREATE TABLE loaded (id int, name varchar(20))
CREATE TABLE seen (n int)
----

CREATE TRIGGER loaded_in ON loaded AFTER INSERT AS INSERT seen SELECT COUNT(*) FROM inserted
----

INSERT loaded SELECT TOP (0) 1, 'x' FROM sys.objects
INSERT loaded SELECT 1, 'x' UNION ALL SELECT 2, 'y'
SELECT n FROM seen
----
0
2

UPDATE loaded SET id = 1 WHERE UPDATE(id)
----
error 157

CREATE TABLE people (id int, name nvarchar(10), price decimal(9, 2))
----

CREATE TRIGGER people_in ON people AFTER INSERT AS
IF EXISTS (SELECT * FROM inserted WHERE id = 99) ROLLBACK
ELSE SELECT COUNT(*) AS n, MIN(id) AS least FROM inserted
----

BULK INSERT people FROM 'people.txt'
----
affected 3

BULK INSERT people FROM 'people.txt' WITH (FIRE_TRIGGERS, BATCHSIZE = 2)
SELECT COUNT(*) FROM people
----
2 | 1
affected 2
1 | 3
affected 1
6

ALTER TRIGGER people_in ON people AFTER INSERT AS ROLLBACK
----

BULK INSERT people FROM 'people.txt' WITH (FIRE_TRIGGERS)
----
error 3609

SELECT COUNT(*), @@TRANCOUNT FROM people
----
6 | 0

INSERT people SELECT id, name, price FROM OPENROWSET(BULK 'people.txt', FORMATFILE = 'people.fmt') AS f
----
error 3609

INSERT people WITH (IGNORE_TRIGGERS) SELECT id, name, price FROM OPENROWSET(BULK 'people.txt', FORMATFILE = 'people.fmt') AS f
SELECT COUNT(*) FROM people
----
affected 3
9

-- An error in a trigger leaves the transaction uncommittable for the TRY that catches it.
CREATE TABLE watched (n int)
----

CREATE TRIGGER watching ON watched AFTER INSERT AS SELECT 1 / 0
----

BEGIN TRAN
BEGIN TRY INSERT watched VALUES (1) END TRY
BEGIN CATCH
    SELECT ERROR_NUMBER(), XACT_STATE(), @@TRANCOUNT
    ROLLBACK
END CATCH
SELECT COUNT(*), @@TRANCOUNT FROM watched
----
8134 | -1 | 1
0 | 0

BEGIN TRY INSERT watched VALUES (1) END TRY
BEGIN CATCH SELECT ERROR_NUMBER(), XACT_STATE(), @@TRANCOUNT END CATCH
SELECT COUNT(*) FROM watched
----
8134 | 0 | 0
0

ALTER TRIGGER watching ON watched AFTER INSERT AS BEGIN TRY SELECT 1 / 0 END TRY BEGIN CATCH PRINT XACT_STATE() END CATCH
----

INSERT watched VALUES (1); SELECT 'not reached'
----
info: -1
error 3616

SELECT COUNT(*), @@TRANCOUNT FROM watched
----
0 | 0

-- RAISERROR ends nothing, whatever its severity below 19.
ALTER TRIGGER watching ON watched AFTER INSERT AS IF 1 = 1 RAISERROR('e', 17, 1)
----

INSERT watched VALUES (1); SELECT COUNT(*), @@TRANCOUNT FROM watched
BEGIN TRAN; INSERT watched VALUES (2); COMMIT
BEGIN TRAN
BEGIN TRY INSERT watched VALUES (3) END TRY BEGIN CATCH SELECT ERROR_SEVERITY(), XACT_STATE() END CATCH
COMMIT
SELECT COUNT(*) FROM watched
----
error 50000: e
1 | 0
error 50000: e
17 | 1
3

CREATE TABLE turns (n int)
----

CREATE TRIGGER one ON turns AFTER INSERT AS PRINT 'one'
----

CREATE TRIGGER two ON turns AFTER INSERT, UPDATE AS PRINT 'two'
----

CREATE TRIGGER three ON turns AFTER INSERT AS PRINT 'three'
----

EXEC sp_settriggerorder 'dbo.three', 'First', 'INSERT'
EXEC sp_settriggerorder @triggername = one, @order = 'last', @stmttype = 'insert'
INSERT turns VALUES (1)
SELECT OBJECT_NAME(object_id), is_first, is_last FROM sys.trigger_events WHERE OBJECT_NAME(object_id) IN ('one', 'two', 'three') AND type = 1 ORDER BY 1
----
info: three
info: two
info: one
affected 1
one | 0 | 1
three | 1 | 0
two | 0 | 0

EXEC sp_settriggerorder 'two', 'First', 'INSERT'
----
error 15130: There already exists a 'first' trigger for 'INSERT'.

EXEC sp_settriggerorder 'one', 'First', 'UPDATE'
----
error 15125: Trigger 'one' is not a trigger for 'UPDATE'.

EXEC sp_settriggerorder 'nosuch', 'First', 'UPDATE'
----
error 15165

EXEC sp_settriggerorder 'one', 'Second', 'UPDATE'
----
error 15600

-- ALTER takes the place.
ALTER TRIGGER three ON turns AFTER INSERT AS PRINT 'three'
----

EXEC sp_settriggerorder 'one', 'None', 'INSERT'
INSERT turns VALUES (1)
----
info: one
info: two
info: three
affected 1
