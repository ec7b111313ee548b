CREATE TABLE parent (id int NOT NULL PRIMARY KEY, name varchar(10))
CREATE TABLE child (id int NOT NULL PRIMARY KEY, parent_id int NULL CONSTRAINT fk_child REFERENCES parent (id))
INSERT parent VALUES (1, 'a'), (2, 'b'), (3, 'c')
INSERT child VALUES (10, 1), (11, NULL)
----

INSERT child VALUES (12, 9)
----
error 547: The INSERT statement conflicted with the FOREIGN KEY constraint "fk_child". The conflict occurred in database "master", table "dbo.parent", column 'id'.

UPDATE child SET parent_id = 8 WHERE id = 11
----
error 547: The UPDATE statement conflicted with the FOREIGN KEY constraint "fk_child". The conflict occurred in database "master", table "dbo.parent", column 'id'.

UPDATE child SET parent_id = 2 WHERE id = 11
----
affected 1

DELETE parent WHERE id = 1
----
error 547: The DELETE statement conflicted with the REFERENCE constraint "fk_child". The conflict occurred in database "master", table "dbo.child", column 'parent_id'.

UPDATE parent SET id = 7 WHERE id = 1
----
error 547: The UPDATE statement conflicted with the REFERENCE constraint "fk_child". The conflict occurred in database "master", table "dbo.child", column 'parent_id'.

DELETE parent WHERE id = 3
----
affected 1

UPDATE parent SET name = 'A' WHERE id = 1
----
affected 1

MERGE parent AS p USING (VALUES (1)) AS s (id) ON p.id = s.id WHEN MATCHED THEN DELETE;
----
error 547: The MERGE statement conflicted with the REFERENCE constraint "fk_child". The conflict occurred in database "master", table "dbo.child", column 'parent_id'.

DROP TABLE parent
----
error 3726: Could not drop object 'parent' because it is referenced by a FOREIGN KEY constraint.

TRUNCATE TABLE parent
----
error 4712: Cannot truncate table 'parent' because it is being referenced by a FOREIGN KEY constraint.

INSERT child SELECT id + 20, id FROM parent
----
affected 2

SELECT id, parent_id FROM child ORDER BY id
----
10 | 1
11 | 2
21 | 1
22 | 2

BEGIN TRAN
INSERT parent VALUES (50, 'new')
INSERT child VALUES (50, 50)
ROLLBACK
INSERT child VALUES (50, 50)
----
error 547

CREATE TABLE orphan (id int REFERENCES nosuch (id))
----
error 1767
error 1750: Could not create constraint or index. See previous errors.

CREATE TABLE orphan (id int, CONSTRAINT f FOREIGN KEY (nosuch) REFERENCES parent (id))
----
error 1769: Foreign key 'f' references invalid column 'nosuch' in referencing table 'orphan'.
error 1750: Could not create constraint or index. See previous errors.

CREATE TABLE orphan (id int, CONSTRAINT f FOREIGN KEY (id) REFERENCES parent (nosuch))
----
error 1770: Foreign key 'f' references invalid column 'nosuch' in referenced table 'parent'.
error 1750: Could not create constraint or index. See previous errors.

CREATE TABLE orphan (id varchar(10), CONSTRAINT f FOREIGN KEY (id) REFERENCES parent (name))
----
error 1776: There are no primary or candidate keys in the referenced table 'parent' that match the referencing column list in the foreign key 'f'.
error 1750: Could not create constraint or index. See previous errors.

CREATE TABLE orphan (id bigint, CONSTRAINT f FOREIGN KEY (id) REFERENCES parent (id))
----
error 1778: Column 'parent.id' is not the same data type as referencing column 'orphan.id' in foreign key 'f'.
error 1750: Could not create constraint or index. See previous errors.

CREATE TABLE orphan (id int NOT NULL, CONSTRAINT f FOREIGN KEY (id) REFERENCES parent (id) ON DELETE SET NULL)
----
error 1761

CREATE TABLE cascades (id int PRIMARY KEY, parent_id int REFERENCES parent (id) ON DELETE CASCADE ON UPDATE CASCADE)
CREATE TABLE nulls (id int PRIMARY KEY, parent_id int REFERENCES parent (id) ON DELETE SET NULL ON UPDATE SET NULL)
CREATE TABLE defaults (id int PRIMARY KEY, parent_id int DEFAULT 2 REFERENCES parent (id) ON DELETE SET DEFAULT)
CREATE TABLE grandchild (id int PRIMARY KEY, cascade_id int REFERENCES cascades (id) ON DELETE CASCADE)
INSERT parent VALUES (100, 'x'), (101, 'y')
INSERT cascades VALUES (1, 100), (2, 100), (3, 101)
INSERT nulls VALUES (1, 100), (2, 101)
INSERT defaults VALUES (1, 100), (2, 101)
INSERT grandchild VALUES (1, 1), (2, 3)
----

DELETE parent WHERE id = 100
----
affected 1

SELECT id, parent_id FROM cascades SELECT id, cascade_id FROM grandchild SELECT id, parent_id FROM nulls ORDER BY id SELECT id, parent_id FROM defaults ORDER BY id
----
3 | 101
2 | 3
1 | NULL
2 | 101
1 | 2
2 | 101

DELETE defaults
UPDATE parent SET id = 102 WHERE id = 101
SELECT id, parent_id FROM cascades SELECT id, parent_id FROM nulls ORDER BY id
----
3 | 102
1 | NULL
2 | NULL

CREATE TABLE tree (id int PRIMARY KEY, above int NULL CONSTRAINT fk_tree REFERENCES tree (id))
INSERT tree VALUES (1, NULL), (2, 1), (3, 2)
----

INSERT tree VALUES (4, 99)
----
error 547: The INSERT statement conflicted with the FOREIGN KEY SAME TABLE constraint "fk_tree". The conflict occurred in database "master", table "dbo.tree", column 'id'.

DELETE tree WHERE id = 2
----
error 547: The DELETE statement conflicted with the SAME TABLE REFERENCE constraint "fk_tree". The conflict occurred in database "master", table "dbo.tree", column 'above'.

DELETE tree WHERE id >= 2
----
affected 2

INSERT tree VALUES (5, 5)
----
affected 1

CREATE TABLE loop (id int PRIMARY KEY, above int REFERENCES loop (id) ON DELETE CASCADE)
----
error 1785
error 1750: Could not create constraint or index. See previous errors.

TRUNCATE TABLE tree
DROP TABLE tree
----

CREATE TABLE pair (a int, b varchar(10), PRIMARY KEY (a, b))
CREATE TABLE pairs (x int, y varchar(20), CONSTRAINT fk_pairs FOREIGN KEY (x, y) REFERENCES pair (a, b))
INSERT pair VALUES (1, 'One')
INSERT pairs VALUES (1, 'ONE'), (NULL, 'two'), (7, NULL)
----

INSERT pairs VALUES (1, 'two')
----
error 547: The INSERT statement conflicted with the FOREIGN KEY constraint "fk_pairs". The conflict occurred in database "master", table "dbo.pair".

ALTER TABLE pairs NOCHECK CONSTRAINT fk_pairs
INSERT pairs VALUES (8, 'eight')
SELECT is_disabled, is_not_trusted FROM sys.foreign_keys WHERE name = 'fk_pairs'
----
1 | 1

ALTER TABLE pairs CHECK CONSTRAINT fk_pairs
SELECT is_disabled, is_not_trusted FROM sys.foreign_keys WHERE name = 'fk_pairs'
----
0 | 1

ALTER TABLE pairs WITH CHECK CHECK CONSTRAINT fk_pairs
----
error 547: The ALTER TABLE statement conflicted with the FOREIGN KEY constraint "fk_pairs". The conflict occurred in database "master", table "dbo.pair".

DELETE pairs WHERE x = 8
ALTER TABLE pairs WITH CHECK CHECK CONSTRAINT ALL
SELECT is_disabled, is_not_trusted FROM sys.foreign_keys WHERE name = 'fk_pairs'
----
0 | 0

ALTER TABLE pairs CHECK CONSTRAINT nosuch
----
error 4917: Constraint 'nosuch' does not exist.

ALTER TABLE pairs DROP CONSTRAINT fk_pairs
INSERT pairs VALUES (9, 'nine')
----
affected 1

ALTER TABLE pairs ADD CONSTRAINT fk_pairs FOREIGN KEY (x, y) REFERENCES pair (a, b)
----
error 547: The ALTER TABLE statement conflicted with the FOREIGN KEY constraint "fk_pairs". The conflict occurred in database "master", table "dbo.pair".

ALTER TABLE pairs WITH NOCHECK ADD CONSTRAINT fk_pairs FOREIGN KEY (x, y) REFERENCES pair (a, b)
SELECT is_disabled, is_not_trusted, delete_referential_action_desc FROM sys.foreign_keys WHERE name = 'fk_pairs'
----
0 | 1 | NO_ACTION

INSERT pairs VALUES (10, 'ten')
----
error 547

CREATE TABLE #temp (id int REFERENCES parent (id))
INSERT #temp VALUES (12345)
----
affected 1

-- A disabled index takes the keys that are bound to it along, and nothing enables them but a person.
CREATE TABLE stem (id int NOT NULL PRIMARY KEY, code int NOT NULL CONSTRAINT uq_stem UNIQUE, mark int NOT NULL, up int NULL CONSTRAINT fk_up REFERENCES stem (code))
CREATE UNIQUE INDEX ux_mark ON stem (mark)
CREATE TABLE leaf (code int CONSTRAINT fk_code REFERENCES stem (code), mark int CONSTRAINT fk_mark REFERENCES stem (mark), stem int CONSTRAINT fk_stem REFERENCES stem (id))
INSERT stem VALUES (1, 10, 100, NULL)
INSERT leaf VALUES (10, 100, 1)
----

DROP INDEX ux_mark ON stem
----
error 3723: An explicit DROP INDEX is not allowed on index 'stem.ux_mark'. It is being used for FOREIGN KEY constraint enforcement.

ALTER INDEX uq_stem ON stem DISABLE
SELECT name, is_disabled, is_not_trusted FROM sys.foreign_keys WHERE name IN ('fk_up', 'fk_code', 'fk_mark', 'fk_stem') ORDER BY name
----
info: Warning: Foreign key 'fk_up' on table 'stem' referencing table 'stem' was disabled as a result of disabling the index 'uq_stem'.
info: Warning: Foreign key 'fk_code' on table 'leaf' referencing table 'stem' was disabled as a result of disabling the index 'uq_stem'.
fk_code | 1 | 1
fk_mark | 0 | 0
fk_stem | 0 | 0
fk_up | 1 | 1

INSERT leaf VALUES (11, 100, 1)
----
affected 1

ALTER TABLE leaf CHECK CONSTRAINT fk_code
----
error 1776: There are no primary or candidate keys in the referenced table 'stem' that match the referencing column list in the foreign key 'fk_code'.
error 1750: Could not create constraint or index. See previous errors.

ALTER INDEX uq_stem ON stem REBUILD
SELECT name, is_disabled FROM sys.foreign_keys WHERE name = 'fk_code'
ALTER TABLE leaf WITH CHECK CHECK CONSTRAINT fk_code
----
fk_code | 1
error 547: The ALTER TABLE statement conflicted with the FOREIGN KEY constraint "fk_code". The conflict occurred in database "master", table "dbo.stem", column 'code'.

DELETE leaf WHERE code = 11
ALTER TABLE leaf WITH CHECK CHECK CONSTRAINT fk_code
SELECT name, is_disabled, is_not_trusted FROM sys.foreign_keys WHERE name = 'fk_code'
----
affected 1
fk_code | 0 | 0

ALTER INDEX ux_mark ON stem DISABLE
INSERT leaf VALUES (10, 7, 1)
----
info: Warning: Foreign key 'fk_mark' on table 'leaf' referencing table 'stem' was disabled as a result of disabling the index 'ux_mark'.
affected 1

ALTER INDEX ALL ON stem DISABLE
----
error 40515: DISABLE of a clustered index is not supported by this server.
