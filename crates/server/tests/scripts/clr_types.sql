CREATE TABLE place (id int PRIMARY KEY, node hierarchyid NULL, shape geometry NULL, spot geography NULL)
INSERT place VALUES (1, '/1/', 'POINT (1 2)', 'POINT (10 50)'), (2, '/1/2.5/', 'LINESTRING (0 0, 1 1, 2 0)', geography::Point(50, 10, 4326)), (3, NULL, NULL, NULL)
----

SELECT CAST(CAST('/1/' AS hierarchyid) AS varbinary(10)) AS a, CAST(CAST('/1/2.5/' AS hierarchyid) AS nvarchar(20)) AS b, hierarchyid::GetRoot().ToString() AS c
----
0x58 | /1/2.5/ | /

SELECT id, node.ToString() AS path, p.node.GetLevel() AS level, node.GetAncestor(1).ToString() AS above, node.IsDescendantOf('/1/') AS below FROM place AS p ORDER BY id
----
[id int, path nvarchar(4000) null, level smallint null, above nvarchar(4000) null, below bit null]
1 | /1/ | 1 | / | 1
2 | /1/2.5/ | 2 | /1/ | 1
3 | NULL | NULL | NULL | NULL

SELECT shape.STAsText() AS t, shape.STGeometryType() AS g, shape.STX AS x, shape.STSrid AS s, spot.Lat AS lat, spot.Long AS long FROM place WHERE id < 3 ORDER BY id
----
POINT (1 2) | Point | 1 | 0 | 50 | 10
LINESTRING (0 0, 1 1, 2 0) | LineString | NULL | 0 | 50 | 10

SELECT COUNT(*) AS n FROM place a JOIN place b ON CAST(a.spot AS varbinary(100)) = CAST(b.spot AS varbinary(100))
----
4

SELECT CAST(geometry::STGeomFromText('POINT (5 10)', 4326) AS varbinary(30)) AS b, geometry::Point(1, 10, 0).ToString() AS p, geography::Parse('POINT (1 2)').STSrid AS s
----
0xE6100000010C00000000000014400000000000002440 | POINT (1 10) | 4326

DECLARE @g geometry = 'POLYGON ((0 0, 4 0, 4 4, 0 0))' SELECT @g.ToString() AS t, @g.STNumPoints() AS n, @g.STIsEmpty() AS e
----
POLYGON ((0 0, 4 0, 4 4, 0 0)) | 4 | 0

SELECT CAST('1/2' AS hierarchyid)
----
error 6522

SELECT CAST('CIRCLE (1 2)' AS geometry)
----
error 6522

SELECT geometry::Buffer(1)
----
error 6506

SELECT shape.STArea() FROM place
----
error 4121

SELECT int::Parse('1')
----
error 243

-- xml has no methods: what names one is refused.
CREATE TABLE documents (x xml)
INSERT documents VALUES ('<a>1</a>')
SELECT x.value('(/a)[1]', 'int') FROM documents
SELECT d.x.query('/a') FROM documents AS d
SELECT 1 AS n FROM documents WHERE x.exist('/a') = 1
DECLARE @x xml = '<a>1</a>'
SELECT @x.value('(/a)[1]', 'int')
SET @x.modify('delete /a')
IF 1 = 0 SET @x.modify('delete /a') ELSE SELECT 2 AS n
IF 1 = 0 SELECT x.value('(/a)[1]', 'int') FROM documents
----
affected 1
error 40515: The method value() of xml is not supported by this server.
error 40515
error 40515
error 40515
error 40515: The method modify() of xml is not supported by this server.
2

SELECT n.c FROM documents CROSS APPLY x.nodes('/a') AS n(c)
----
error 40515: The method nodes() of xml is not supported by this server.

DECLARE @x xml SELECT n.c FROM @x.nodes('/a') AS n(c)
----
error 40515

UPDATE documents SET x.modify('delete /a')
----
error 40515

-- A hierarchyid compares as its nodes do, with text and bytes as well, and is a key: depth first.
CREATE TABLE org (node hierarchyid PRIMARY KEY, level AS node.GetLevel(), name varchar(10))
CREATE UNIQUE INDEX by_level ON org (level, node)
INSERT org VALUES ('/2/', 'c'), ('/1/1/', 'b'), ('/', 'root'), ('/1/', 'a'), ('/1/-1/', 'a2'), ('/1/1.5/', 'b2')
SELECT name FROM org ORDER BY node
SELECT name FROM org WHERE node = '/1/1/'
SELECT name FROM org WHERE node = 0x5AC0
SELECT name FROM org WHERE node > '/1/' AND node < '/2/' ORDER BY node DESC
SELECT MAX(node).ToString() AS last, MIN(node).ToString() AS first, COUNT(DISTINCT node) AS n FROM org
SELECT DISTINCT node.GetAncestor(1).ToString() AS above FROM org ORDER BY above
SELECT a.name, b.name AS above FROM org a JOIN org b ON b.node = a.node.GetAncestor(1) ORDER BY a.node
SELECT name FROM org WHERE node IN ('/2/', '/1/') ORDER BY name
----
root
a
a2
b
b2
c
b
b
b2
b
a2
/2/ | / | 6
NULL
/
/1/
a | root
a2 | a
b | a
b2 | a
c | root
a
c

INSERT org (node, name) VALUES ('/1/', 'again')
----
error 2627: Violation of PRIMARY KEY constraint 'PK__org__299B22AA22AA299B'. Cannot insert duplicate key in object 'dbo.org'. The duplicate key value is (0x58).

CREATE TABLE reports (node hierarchyid REFERENCES org, n int)
INSERT reports VALUES ('/1/', 1), (NULL, 2)
INSERT reports VALUES ('/7/', 1)
----
error 547: The INSERT statement conflicted with the FOREIGN KEY constraint "FK__reports__node__22AA299D". The conflict occurred in database "master", table "dbo.org", column 'node'.

SELECT name, max_length FROM sys.columns WHERE object_id = OBJECT_ID('org') AND name = 'node'
SELECT 1 AS n FROM org WHERE node = 1
----
node | 892
error 206: Operand type clash: hierarchyid is incompatible with int

SELECT 1 AS n FROM place WHERE shape = shape
----
error 402: The data types geometry and geometry are incompatible in the equal to operator.

CREATE INDEX shapes ON place (shape)
----
error 1919: Column 'shape' in table 'place' is of a type that is invalid for use as a key column in an index.

CREATE INDEX nodes ON place (node)
SELECT id FROM place WHERE node = '/1/2.5/'
SELECT id FROM place ORDER BY node
----
2
3
1
2

SELECT CAST(CAST(REPLICATE(CAST(0x58 AS varbinary(max)), 900) AS varbinary(max)) AS hierarchyid)
----
error 6522: A .NET Framework error occurred during execution of user-defined routine or aggregate "hierarchyid": 24000: A path has at most 892 bytes.
