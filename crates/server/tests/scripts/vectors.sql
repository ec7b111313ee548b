CREATE TABLE docs (id int PRIMARY KEY, v vector(3) NULL, h vector(2, float16) NULL)
INSERT docs VALUES (1, '[0.1, 2, 30]', '[0.1, 65504]'), (2, N'[-100.2, 0.123, 9.876]', NULL), (3, NULL, '[1, -1]')
INSERT docs (id, v) VALUES (4, JSON_ARRAY(1.0, 2.0, 3.0))
----

SELECT id, v, h FROM docs ORDER BY id
----
[id int, v vector(3) null, h vector(2, float16) null]
1 | [1.0000000e-001,2.0000000e+000,3.0000000e+001] | [9.9975586e-002,6.5504000e+004]
2 | [-1.0020000e+002,1.2300000e-001,9.8760004e+000] | NULL
3 | NULL | [1.0000000e+000,-1.0000000e+000]
4 | [1.0000000e+000,2.0000000e+000,3.0000000e+000] | NULL

SELECT 1 AS i, CAST(v AS varchar(100)) AS a, CAST(h AS nvarchar(max)) AS b, CAST(v AS json) AS c, LEN(CAST(v AS varchar(100))) AS n FROM docs WHERE id = 1
----
1 | [1.0000000e-001,2.0000000e+000,3.0000000e+001] | [9.9975586e-002,6.5504000e+004] | [1.0000000e-001,2.0000000e+000,3.0000000e+001] | 46

DECLARE @v vector(3) = '[1, 2, 3]', @w vector(3) SET @w = @v SELECT VECTOR_NORM(@w, 'norm1') AS n1, CONVERT(varchar(30), VECTOR_NORM(@v, 'norm2'), 3) AS n2, VECTOR_NORM(@v, 'NORMINF') AS ni, @w AS w
----
[n1 float, n2 varchar(30), ni float, w vector(3) null]
6 | 3.7416573867739413e+000 | 3 | [1.0000000e+000,2.0000000e+000,3.0000000e+000]

DECLARE @a vector(2) = '[1,1]', @b vector(2) = '[-1,-1]' SELECT CONVERT(varchar(30), VECTOR_DISTANCE('euclidean', @a, @b), 3) AS e, CONVERT(varchar(30), VECTOR_DISTANCE('cosine', @a, @b), 3) AS c, VECTOR_DISTANCE('dot', @a, @b) AS d
----
2.8284271247461903e+000 | 1.9999999999999998e+000 | 2

SELECT TOP (2) id, VECTOR_DISTANCE('euclidean', v, CAST('[1,2,3]' AS vector(3))) AS d FROM docs WHERE v IS NOT NULL ORDER BY d
----
4 | 0
1 | 27.015

SELECT VECTOR_NORMALIZE(v, 'norm1') AS v FROM docs WHERE id = 4
----
[v vector(3) null]
[1.6666667e-001,3.3333334e-001,5.0000000e-001]

SELECT VECTORPROPERTY(v, 'Dimensions') AS d, VECTORPROPERTY(v, 'BaseType') AS b, VECTORPROPERTY(h, 'basetype') AS h, VECTORPROPERTY(v, 'x') AS x FROM docs WHERE id = 1
----
[d int null, b nvarchar(128) null, h nvarchar(128) null, x int null]
3 | float32 | float16 | NULL

DECLARE @v vector(3) = '[1, 2]'
----
error 42204: The vector dimensions 2 and 3 do not match.

DECLARE @v vector(3) = '[1, 2, x]'
----
error 13670

INSERT docs (id, v) VALUES (9, '[1,2,null]')
----
error 13670

DECLARE @v vector(3) = '[1, 2, 1e39]'
----
error 42241: Input JSON contains out-of-range values for float32.

DECLARE @v vector(3, float16) = '[1.0, 2.0, 70000.0]'
----
error 42241: Input JSON contains out-of-range values for float16.

DECLARE @v1 vector(3, float16), @v2 vector(4, float16) = '[1,2,3,4]' SET @v1 = @v2
----
error 42204: The vector dimensions 4 and 3 do not match.

DECLARE @v1 vector(3, float16), @v2 vector(3, float32) = '[1.0, 2.0, 3.0]' SET @v1 = CAST(@v2 AS vector(3, float16))
----
error 42238: Conversion of vector from data type float32 to float16 is not allowed.

DECLARE @v1 vector(3, float32) = '[1.0, 2.0, 3.0]', @v2 vector(3, float16) = '[1, 2, 3]' SELECT VECTOR_DISTANCE('euclidean', @v1, @v2)
----
error 42243: VECTOR_DISTANCE function does not support different base types for vector arguments.

DECLARE @v vector(3) = '[1,2,3]', @w vector(2) = '[1,2]' SELECT VECTOR_DISTANCE('cosine', @v, @w)
----
error 42204: The vector dimensions 3 and 2 do not match.

SELECT VECTOR_DISTANCE('manhattan', v, v) FROM docs WHERE id = 1
----
error 42201: The requested distance metric 'manhattan' is not supported by vector_distance. Provide a valid distance metric.

SELECT VECTOR_NORM(v, 'norm3') FROM docs WHERE id = 1
----
error 42210: The requested norm function 'norm3' is not supported by vector_norm/vector_normalize. Provide a valid norm function.

SELECT VECTOR_DISTANCE('cosine', '[1]', v) FROM docs
----
error 8116: Argument data type varchar is invalid for argument 2 of vector_distance function.

DECLARE @v vector(1999)
----
error 42203: The provided dimension for the vector (1999) is not within the allowed range [1-1998].

CREATE TABLE t (v vector(3997, float16))
----
error 42203: The provided dimension for the vector (3997) is not within the allowed range [1-3996].

SELECT 1 FROM docs WHERE v = '[1,2,3]'
----
error 42213: The vector data types cannot be compared or sorted, except when using the IS NULL operator.

SELECT v FROM docs ORDER BY v
----
error 42213

SELECT COUNT(*) FROM docs GROUP BY v
----
error 42213

SELECT DISTINCT v FROM docs
----
error 421

SELECT COUNT(v) AS n FROM docs WHERE v IS NOT NULL
----
3

SELECT MAX(v) FROM docs
----
error 8117: Operand data type vector is invalid for max operator.

SELECT COUNT(DISTINCT v) FROM docs
----
error 8117

SELECT ROW_NUMBER() OVER (PARTITION BY v ORDER BY id) FROM docs
----
error 42213

SELECT v FROM docs EXCEPT SELECT v FROM docs
----
error 421

SELECT GREATEST(v, v) FROM docs
----
error 42213

SELECT SUM(v) FROM docs
----
error 8117: Operand data type vector is invalid for sum operator.

SELECT v + v FROM docs
----
error 8117: Operand data type vector is invalid for add operator.

SELECT CAST(1 AS vector(3))
----
error 529: Explicit conversion from data type int to vector is not allowed.

SELECT CAST(v AS varbinary(100)) FROM docs
----
error 529

SELECT CAST(v AS varchar(10)) FROM docs WHERE id = 1
----
error 42211

SELECT CAST(v AS sql_variant) FROM docs
----
error 529

CREATE TYPE embedding FROM vector(3)
----
error 42212: Cannot create alias types from a vector datatype.

CREATE TABLE keyed (v vector(3) PRIMARY KEY)
----
error 1919

CREATE INDEX by_vector ON docs (v)
----
error 1919

CREATE INDEX by_id ON docs (id) INCLUDE (v)
----

SELECT c.name, t.name AS type, c.system_type_id, c.user_type_id, c.max_length, c.vector_dimensions, c.vector_base_type, c.vector_base_type_desc FROM sys.columns AS c JOIN sys.types AS t ON t.user_type_id = c.user_type_id WHERE c.object_id = OBJECT_ID('docs') ORDER BY c.column_id
----
id | int | 56 | 56 | 4 | NULL | NULL | NULL
v | vector | 165 | 255 | 20 | 3 | 0 | float32
h | vector | 165 | 255 | 12 | 2 | 1 | float16

SELECT COLUMN_NAME, DATA_TYPE, CHARACTER_MAXIMUM_LENGTH AS c, NUMERIC_PRECISION AS p FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_NAME = 'docs' AND COLUMN_NAME <> 'id'
----
v | vector | NULL | NULL
h | vector | NULL | NULL

ALTER TABLE docs ADD w vector(4) NULL
UPDATE docs SET w = '[1,2,3,4]' WHERE id = 1
UPDATE docs SET v = NULL WHERE id = 2
SELECT id, w FROM docs WHERE w IS NOT NULL
----
1 | [1.0000000e+000,2.0000000e+000,3.0000000e+000,4.0000000e+000]

ALTER TABLE docs ALTER COLUMN w vector(5)
----
error 42204

SELECT v, COALESCE(v, '[0,0,0]') AS c INTO copied FROM docs WHERE id < 3
SELECT v, c FROM copied ORDER BY VECTOR_NORM(c, 'norm1') DESC
----
affected 2
[v vector(3) null, c vector(3)]
[1.0000000e-001,2.0000000e+000,3.0000000e+001] | [1.0000000e-001,2.0000000e+000,3.0000000e+001]
NULL | [0.0000000e+000,0.0000000e+000,0.0000000e+000]

CREATE PROCEDURE echo @v vector(3), @w vector(3) OUTPUT AS BEGIN SELECT 1 AS i, @v AS v SET @w = @v END
----

DECLARE @w vector(3) EXEC echo '[7,8,9]', @w OUTPUT SELECT 2 AS i, @w AS w
----
1 | [7.0000000e+000,8.0000000e+000,9.0000000e+000]
2 | [7.0000000e+000,8.0000000e+000,9.0000000e+000]

CREATE FUNCTION first_half (@v vector(2)) RETURNS vector(2) AS BEGIN RETURN VECTOR_NORMALIZE(@v, 'norm2') END
----

SELECT 1 AS i, dbo.first_half('[3,4]') AS f
----
1 | [6.0000002e-001,8.0000001e-001]

SELECT id, v FROM docs WHERE id = 4 FOR JSON PATH, WITHOUT_ARRAY_WRAPPER
----
{"id":4,"v":[1.0000000e+000,2.0000000e+000,3.0000000e+000]}

SELECT TRY_CAST('[1,2]' AS vector(3)) AS a, TRY_CAST('x' AS vector(3)) AS b, ISNULL(CAST(NULL AS vector(2)), '[1,2]') AS c, CASE WHEN 1 = 1 THEN CAST('[1]' AS vector(1)) END AS d
----
NULL | NULL | [1.0000000e+000,2.0000000e+000] | [1.0000000e+000]

SELECT VECTOR_DISTANCE('cosine', CAST('[0,0]' AS vector(2)), CAST('[1,2]' AS vector(2))) AS a, VECTOR_NORMALIZE(CAST('[0,0]' AS vector(2)), 'norm2') AS b, VECTOR_NORM(CAST(NULL AS vector(2)), 'norm2') AS c
----
NULL | NULL | NULL

CREATE TYPE embeddings AS TABLE (id int, v vector(2))
----

DECLARE @t embeddings INSERT @t VALUES (1, '[1,2]') SELECT id, v FROM @t
----
1 | [1.0000000e+000,2.0000000e+000]

CREATE VECTOR INDEX by_v ON docs (v) WITH (METRIC = 'cosine')
----
error 40515

CREATE TABLE defaulted (v vector(2) DEFAULT '[1,2]')
----
error 40515

BULK INSERT docs FROM 'native.bin' WITH (DATAFILETYPE = 'native')
----
error 42225
