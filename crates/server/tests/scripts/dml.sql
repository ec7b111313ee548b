CREATE TABLE t (id int NOT NULL, name varchar(20), price decimal(8,2) DEFAULT 9.99)
----

INSERT INTO t (id, name) VALUES (1, 'one'), (2, 'two'), (3, NULL)
----
affected 3

INSERT t VALUES (4, 'four', 4.5)
----
affected 1

INSERT t VALUES (5, 'five', DEFAULT)
----
affected 1

INSERT t VALUES (6, 'six')
----
error 213: Column name or number of supplied values does not match table definition.

INSERT t (id, nosuch) VALUES (6, 1)
----
error 207: Invalid column name 'nosuch'.

INSERT t (id, name) VALUES (6)
----
error 109

INSERT t (id) VALUES (6, 7)
----
error 110

INSERT nosuch VALUES (1)
----
error 208: Invalid object name 'nosuch'.

INSERT t (name) VALUES ('none')
----
error 515: Cannot insert the value NULL into column 'id', table 'master.dbo.t'; column does not allow nulls. INSERT fails.

INSERT t DEFAULT VALUES
----
error 515

SELECT id, name, price FROM t ORDER BY id
----
[id int, name varchar(20) null, price decimal(8, 2) null]
1 | one | 9.99
2 | two | 9.99
3 | NULL | 9.99
4 | four | 4.50
5 | five | 9.99

INSERT INTO t (id, name) SELECT id + 10, UPPER(name) FROM t WHERE id < 3
----
affected 2

INSERT t (id, name) SELECT 1
----
error 120

SELECT id, name FROM t WHERE id > 10 ORDER BY id DESC
----
12 | TWO
11 | ONE

UPDATE t SET price = price * 2, name = name + '!' WHERE id <= 2
----
affected 2

SELECT id, name, price FROM t WHERE id <= 2 ORDER BY id
----
1 | one! | 19.98
2 | two! | 19.98

UPDATE t SET name = 'x' WHERE id = 99
----
affected 0

UPDATE t SET id = NULL WHERE id = 1
----
error 515: Cannot insert the value NULL into column 'id', table 'master.dbo.t'; column does not allow nulls. UPDATE fails.

UPDATE t SET price += 1 WHERE id = 4
----
affected 1

UPDATE t SET price = DEFAULT WHERE id = 4; SELECT price FROM t WHERE id = 4
----
9.99

CREATE TABLE s (id int, v varchar(10)); INSERT s VALUES (1, 'from s'), (3, 'also')
----

UPDATE a SET name = s.v FROM t AS a JOIN s ON s.id = a.id
----
affected 2

SELECT id, name FROM t WHERE id IN (1, 2, 3) ORDER BY id
----
1 | from s
2 | two!
3 | also

DELETE a FROM t a JOIN s ON s.id = a.id WHERE s.v = 'also'
----
affected 1

DELETE FROM t WHERE id > 10
----
affected 2

DELETE t
----
affected 4

SELECT COUNT(*) FROM t
----
0

INSERT t (id, name) OUTPUT inserted.id, inserted.price VALUES (1, 'a'), (2, 'b')
----
[id int, price decimal(8, 2) null]
1 | 9.99
2 | 9.99

DELETE t OUTPUT deleted.name WHERE id = 2
----
b

UPDATE t SET name = 'z' OUTPUT inserted.name WHERE id = 1
----
z

CREATE TABLE ident (id int IDENTITY(10, 5), v varchar(5)); INSERT ident (v) VALUES ('a'), ('b'); SELECT SCOPE_IDENTITY(), @@IDENTITY
----
15 | 15

SELECT * FROM ident
----
[id int, v varchar(5) null]
10 | a
15 | b

INSERT ident (id, v) VALUES (1, 'x')
----
error 544: Cannot insert explicit value for identity column in table 'ident' when IDENTITY_INSERT is set to OFF.

SET IDENTITY_INSERT ident ON; INSERT ident (id, v) VALUES (100, 'x'); SET IDENTITY_INSERT ident OFF; INSERT ident VALUES ('y'); SELECT id FROM ident ORDER BY id
----
10
15
100
105

UPDATE ident SET id = 5
----
error 8102: Cannot update identity column 'id'.

SET IDENTITY_INSERT t ON
----
error 8106: Table 't' does not have the identity property. Cannot perform SET operation.

TRUNCATE TABLE ident; INSERT ident (v) VALUES ('n'); SELECT id FROM ident
----
10

DELETE ident; INSERT ident DEFAULT VALUES; SELECT id, v FROM ident
----
15 | NULL

SET NOCOUNT ON; INSERT ident (v) VALUES ('q'); SELECT @@ROWCOUNT; SET NOCOUNT OFF
----
1

SET ROWCOUNT 1; SELECT id FROM ident ORDER BY id; SET ROWCOUNT 0
----
15
