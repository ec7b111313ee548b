CREATE TABLE sales (region varchar(10), product varchar(10), year int, amount int)
INSERT sales VALUES ('north', 'a', 2020, 1), ('north', 'b', 2020, 2), ('south', 'a', 2020, 4), ('South', 'a', 2021, 8), ('south', NULL, 2021, 16)
----

SELECT region, SUM(amount) AS total FROM sales GROUP BY ROLLUP (region) ORDER BY GROUPING(region), region
----
[region varchar(10) null, total int null]
north | 3
south | 28
NULL | 31

SELECT region, year, SUM(amount) FROM sales GROUP BY ROLLUP (region, year) ORDER BY GROUPING(region), region, GROUPING(year), year
----
north | 2020 | 3
north | NULL | 3
south | 2020 | 4
South | 2021 | 24
south | NULL | 28
NULL | NULL | 31

SELECT region, product, SUM(amount), GROUPING(region) AS g, GROUPING_ID(region, product) AS id
FROM sales GROUP BY CUBE (region, product) ORDER BY GROUPING_ID(region, product), region, product
----
[region varchar(10) null, product varchar(10) null,  int null, g tinyint, id int]
north | a | 1 | 0 | 0
north | b | 2 | 0 | 0
south | NULL | 16 | 0 | 0
south | a | 12 | 0 | 0
north | NULL | 3 | 0 | 1
south | NULL | 28 | 0 | 1
NULL | NULL | 16 | 1 | 2
NULL | a | 13 | 1 | 2
NULL | b | 2 | 1 | 2
NULL | NULL | 31 | 1 | 3

SELECT region, year, COUNT(*) FROM sales GROUP BY GROUPING SETS ((region), (year), ()) ORDER BY GROUPING_ID(region, year), region, year
----
north | NULL | 2
south | NULL | 3
NULL | 2020 | 3
NULL | 2021 | 2
NULL | NULL | 5

SELECT year, SUM(amount) FROM sales GROUP BY year WITH ROLLUP HAVING SUM(amount) > 10 ORDER BY GROUPING(year), year
----
2021 | 24
NULL | 31

SELECT year, region, SUM(amount) FROM sales GROUP BY year, ROLLUP (region) HAVING GROUPING(region) = 1 ORDER BY year
----
2020 | NULL | 7
2021 | NULL | 24

SELECT year, GROUPING(year) FROM sales GROUP BY year ORDER BY year
----
2020 | 0
2021 | 0

SELECT GROUPING(product) FROM sales GROUP BY region
----
error 8161

SELECT year / 10 AS decade, SUM(amount) FROM sales GROUP BY ROLLUP (year / 10) ORDER BY 1
----
NULL | 31
202 | 31

SELECT region, SUM(amount) OVER w AS running, ROW_NUMBER() OVER w AS n FROM sales WHERE region = 'north' WINDOW w AS (PARTITION BY region ORDER BY amount)
----
north | 1 | 1
north | 3 | 2

SELECT amount, SUM(amount) OVER (w ROWS UNBOUNDED PRECEDING) FROM sales WHERE year = 2021 WINDOW w AS (ORDER BY amount)
----
8 | 8
16 | 24

SELECT SUM(amount) OVER nosuch FROM sales
----
error 5364: Window 'nosuch' is undefined.

-- An aggregate in a subquery belongs to the query whose columns it is of, and makes it a grouped one.
SELECT (SELECT MAX(v) FROM (VALUES (MIN(amount)), (AVG(year))) AS g(v)) AS most, (SELECT SUM(s.amount)) AS total FROM sales AS s
----
2020 | 31

SELECT TOP (1) (SELECT COUNT(s.product) + x FROM (SELECT 100 AS x) AS one) FROM sales AS s ORDER BY (SELECT MAX(s.amount))
----
104

SELECT region, (SELECT SUM(amount)) FROM sales
----
error 8120

SELECT amount FROM sales AS s WHERE amount = (SELECT MAX(s.amount))
----
error 147

SELECT amount FROM sales AS s WHERE amount = (SELECT MAX(i.amount) FROM sales AS i WHERE i.year = s.year) ORDER BY 1
----
4
16

SELECT (SELECT MAX(i.amount) FROM sales AS i WHERE i.year = s.year) AS most FROM sales AS s ORDER BY amount
----
4
4
4
16
16
