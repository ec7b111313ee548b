SELECT {fn UCASE('a')} AS a, {fn LCASE('A')} AS b, {fn MOD(7, 4)} AS c, {fn LENGTH('abc ')} AS d, {fn LOCATE('b', 'abc')} AS e, {fn REPEAT('x', 3)} AS f
----
A | a | 3 | 3 | 2 | xxx

SELECT {fn TRUNCATE(1.239, 2)} AS a, {fn IFNULL(NULL, 5)} AS b, {fn CONCAT('a', 'b')} AS c, {fn SUBSTRING('abc', 2, 1)} AS d, {fn INSERT('abc', 2, 1, 'X')} AS e
----
1.230 | 5 | ab | b | aXc

SELECT {fn DAYOFMONTH('2021-03-04')} AS a, {fn DAYOFYEAR('2021-03-04')} AS b, {fn MONTHNAME('2021-03-04')} AS c, {fn HOUR('10:20:30')} AS d, {fn YEAR('2021-03-04')} AS e, {fn QUARTER('2021-03-04')} AS f
----
4 | 63 | March | 10 | 2021 | 1

SELECT {fn TIMESTAMPADD(SQL_TSI_DAY, 1, {d '2021-03-04'})} AS a, {fn TIMESTAMPDIFF(SQL_TSI_MONTH, '2021-01-31', '2021-03-01')} AS b, {fn CONVERT('12', SQL_INTEGER)} AS c, {fn EXTRACT(YEAR FROM '2021-03-04')} AS d, {fn BIT_LENGTH('ab')} AS e
----
Mar  5 2021 12:00AM | 2 | 12 | 2021 | 16

SELECT {fn NOSUCH(1)}
----
error 195
