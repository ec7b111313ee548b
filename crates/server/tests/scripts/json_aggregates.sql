CREATE TABLE c (g int, n nvarchar(10), v int); INSERT c VALUES (1, 'a', 3), (1, 'b', NULL), (2, 'c', 1), (2, 'd', 2), (3, 'e', NULL)
----

SELECT 'all', JSON_ARRAYAGG(v ORDER BY n) FROM c
----
all | [3,1,2]

SELECT 'all', JSON_ARRAYAGG(v ORDER BY n DESC NULL ON NULL) FROM c
----
all | [null,2,1,null,3]

SELECT g, JSON_ARRAYAGG(v ORDER BY v DESC) AS a, JSON_ARRAYAGG(v ORDER BY v DESC NULL ON NULL) AS b FROM c GROUP BY g ORDER BY g
----
1 | [3] | [3,null]
2 | [2,1] | [2,1]
3 | [] | [null]

SELECT g, JSON_OBJECTAGG(n : v) AS a, JSON_OBJECTAGG(n : v ABSENT ON NULL) AS b FROM c WHERE n <> 'd' GROUP BY g ORDER BY g
----
1 | {"a":3,"b":null} | {"a":3}
2 | {"c":1} | {"c":1}
3 | {"e":null} | {}

SELECT JSON_ARRAYAGG(v) AS a, JSON_OBJECTAGG(n : v) AS b FROM c WHERE 1 = 0
----
NULL | NULL

SELECT JSON_OBJECT('json of rows' : JSON_ARRAYAGG(JSON_OBJECT('n' : n, 'v' : v) ORDER BY n)) FROM c WHERE g = 2
----
{"json of rows":[{"n":"c","v":1},{"n":"d","v":2}]}

SELECT g, JSON_ARRAYAGG(n ORDER BY n) FROM c GROUP BY g HAVING COUNT(*) > 1 ORDER BY g
----
1 | ["a","b"]
2 | ["c","d"]

SELECT 'all', JSON_ARRAYAGG(v ORDER BY n RETURNING JSON), JSON_OBJECT('a' : 1 RETURNING JSON), JSON_ARRAY(1, NULL NULL ON NULL RETURNING JSON), JSON_ARRAY(RETURNING JSON) FROM c
----
all | [3,1,2] | {"a":1} | [1,null] | []

SELECT JSON_OBJECTAGG(CAST(NULL AS varchar(5)) : v) FROM c
----
error 13645: The name of a property of JSON_OBJECT cannot be NULL.

SELECT JSON_ARRAYAGG(v) OVER (PARTITION BY g) FROM c
----
error 40515: JSON_ARRAYAGG … OVER is not supported by this server.

SELECT JSON_CONTAINS('[1, 2.0, 3]', 2), JSON_CONTAINS('[1, 2]', 5), JSON_CONTAINS('["a", "B"]', 'b'), JSON_CONTAINS('["a", "B"]', 'B'), JSON_CONTAINS('[true]', CAST(1 AS bit)), JSON_CONTAINS('["1"]', 1)
----
1 | 0 | 0 | 1 | 1 | 0

SELECT JSON_CONTAINS('{"a": [1, 2], "b": "x"}', 2, '$.a'), JSON_CONTAINS('{"a": [1, 2], "b": "x"}', 'x', '$.b'), JSON_CONTAINS('{"a": 1}', 1, '$.c'), JSON_CONTAINS(NULL, 1), JSON_CONTAINS('[1]', NULL), JSON_CONTAINS('{"a": 1}', 1)
----
1 | 1 | NULL | NULL | NULL | 0

SELECT JSON_CONTAINS('[1]', 1, '$', 1)
----
error 40515: A search mode of JSON_CONTAINS is not supported by this server.
