-- FORMAT writes as Windows' cultures do.
SELECT FORMAT(CAST('2024-10-01' AS date), 'd', 'en-US') AS us, FORMAT(CAST('2024-10-01' AS date), 'd', 'en-gb') AS gb, FORMAT(CAST('2024-10-01' AS date), 'd', 'de-de') AS de, FORMAT(CAST('2024-10-01' AS date), 'd', 'zh-cn') AS cn, FORMAT(CAST('2024-10-01' AS date), 'd', 'nl-NL') AS nl, FORMAT(CAST('2024-10-01' AS date), 'd', 'sv-SE') AS sv, FORMAT(CAST('2024-10-01' AS date), 'd', 'ja-JP') AS jp
SELECT FORMAT(CAST('2024-10-01' AS date), 'D', 'en-US') AS us, FORMAT(CAST('2024-10-01' AS date), 'D', 'en-gb') AS gb, FORMAT(CAST('2024-10-01' AS date), 'D', 'de-de') AS de, FORMAT(CAST('2024-10-01' AS date), 'D', 'zh-cn') AS cn, FORMAT(CAST('2024-10-01' AS date), 'D', 'fr') AS fr, FORMAT(CAST('2024-10-01' AS date), 'D', 'es-ES') AS es, FORMAT(CAST('2024-10-01' AS date), 'D', 'it-it') AS it
SELECT FORMAT(1234567.5, 'N', 'de-de') AS de, FORMAT(1234567.5, 'N', 'fr-fr') AS fr, FORMAT(-1234.5, 'C', 'en-gb') AS gb, FORMAT(1234.5, 'C', 'de-DE') AS money, FORMAT(1234.5, 'C', 'pt-BR') AS br, FORMAT(0.256, 'P1', 'de-de') AS p, FORMAT(1234567.891, '#,##0.00', 'de-DE') AS c
SELECT FORMAT(CAST('2024-03-05 14:05:06' AS datetime), 'dd/MM/yyyy', 'de-DE') AS a, FORMAT(CAST('2024-03-05 14:05:06' AS datetime), 'ddd d MMM yyyy HH:mm', 'fr-FR') AS b, FORMAT(CAST('2024-03-05 14:05:06' AS datetime), 'G', 'en-gb') AS c, FORMAT(CAST('2024-03-05 14:05:06' AS datetime), 's', 'zh-cn') AS d
SELECT FORMAT(CAST(3 AS smallint), 'G6') AS a, FORMAT(123456, 'G3') AS b, FORMAT(0.000012345, 'G2') AS c, FORMAT(1234.5678, 'G6') AS d, FORMAT(1234.5678, 'G6', 'de-de') AS e, FORMAT(9.996, 'G3') AS f, FORMAT(0, 'G3') AS g
----
10/1/2024 | 01/10/2024 | 01.10.2024 | 2024/10/1 | 1-10-2024 | 2024-10-01 | 2024/10/01
Tuesday, October 1, 2024 | 01 October 2024 | Dienstag, 1. Oktober 2024 | 2024年10月1日 | mardi 1 octobre 2024 | martes, 1 de octubre de 2024 | martedì 1 ottobre 2024
1.234.567,50 | 1 234 567,50 | -£1,234.50 | 1.234,50 € | R$ 1.234,50 | 25,6 % | 1.234.567,89
05.03.2024 | mar. 5 mars 2024 14:05 | 05/03/2024 14:05:06 | 2024-03-05T14:05:06
3 | 1.23E+05 | 0.000012 | 1234.57 | 1234,57 | 10 | 0

SELECT FORMAT(1, 'N', 'xx-yy')
----
error 9818: The culture parameter 'xx-yy' provided in the function call is not supported.

-- The language of the session is the culture that is meant where none is named.
SET LANGUAGE German
SELECT FORMAT(1234.5, 'N') AS n, FORMAT(CAST('2024-03-05' AS date), 'D') AS d, PARSE('1.234,5' AS decimal(9, 2)) AS p
SET LANGUAGE us_english
----
info: Changed language setting to Deutsch.
1.234,50 | Dienstag, 5. März 2024 | 1234.50
info: Changed language setting to us_english.

SELECT PARSE('Monday, 13 December 2010' AS datetime2 USING 'en-US') AS a, PARSE('€345,98' AS money USING 'de-DE') AS b, PARSE('12/16/2010' AS datetime2) AS c, PARSE('1,234.50' AS decimal(9, 2)) AS d, PARSE('(12)' AS int) AS e
SELECT PARSE('01/02/2024' AS date USING 'en-GB') AS gb, PARSE('1.2.2024' AS date USING 'de-DE') AS de, PARSE(N'2024年3月5日' AS date USING 'zh-CN') AS cn, PARSE('5 janv. 2024 10:30' AS datetime USING 'fr-FR') AS fr, PARSE('2024-02-29' AS date USING 'de-DE') AS iso, PARSE('3/4/05' AS date) AS short
SELECT TRY_PARSE('x' AS int) AS a, TRY_PARSE('30/02/2024' AS date USING 'en-GB') AS b, TRY_PARSE('1.5' AS int) AS c, TRY_PARSE('12' AS tinyint USING 'en-US') AS d, TRY_PARSE(CAST(NULL AS nvarchar(5)) AS int) AS e, IIF(TRY_PARSE('01/01/2011' AS datetime USING 'en-US') IS NULL, 'no', 'yes') AS f
----
2010-12-13 00:00:00.0000000 | 345.98 | 2010-12-16 00:00:00.0000000 | 1234.50 | -12
2024-02-01 | 2024-02-01 | 2024-03-05 | Jan  5 2024 10:30AM | 2024-02-29 | 2005-03-04
NULL | NULL | NULL | 12 | NULL | yes

SELECT PARSE('1x' AS int USING 'en-GB')
----
error 9819: Error converting string value '1x' into data type int using culture 'en-GB'.

SELECT PARSE('abc' AS date)
----
error 9819: Error converting string value 'abc' into data type date using culture 'en-US'.

SELECT PARSE('1' AS varchar(5))
----
error 10761: Invalid data type varchar(5) in function PARSE.

SELECT TRY_PARSE('1' AS int USING 'xx')
----
error 9818: The culture parameter 'xx' provided in the function call is not supported.
