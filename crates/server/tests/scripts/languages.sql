SELECT @@LANGUAGE AS l, @@LANGID AS i, @@DATEFIRST AS f
SET LANGUAGE Deutsch
SELECT @@LANGUAGE AS l, @@LANGID AS i, @@DATEFIRST AS f, DATENAME(month, '20240305') AS m, DATENAME(weekday, '20240305') AS d, DATEPART(weekday, '20240305') AS w
SELECT CONVERT(varchar(30), CAST('20240305 13:14:15' AS datetime), 100) AS a, CONVERT(varchar(30), CAST('20240305' AS date), 106) AS b, CONVERT(varchar(30), CAST('20241005' AS date), 107) AS c
SELECT CAST('05.03.2024' AS date) AS a, CAST('5 März 2024' AS date) AS b, CAST('5 Okt 2024 10:00' AS datetime) AS c, CAST('2024-03-05' AS datetime) AS d
----
us_english | 0 | 7
info: Changed language setting to Deutsch.
Deutsch | 1 | 1 | März | Dienstag | 2
Mär  5 2024  1:14PM | 05 Mär 2024 | Okt 05, 2024
2024-03-05 | 2024-03-05 | Oct  5 2024 10:00AM | May  3 2024 12:00AM

-- What follows in the session goes on in the language; names of other languages are no months.
SELECT DATENAME(month, d) AS m FROM (VALUES (CAST('2024-05-01' AS date)), ('2024-12-01')) v(d) ORDER BY d
SELECT CAST('5 March 2024' AS date) AS d
----
Mai
Dezember
error 241: Conversion failed when converting date and/or time from character string.

SET DATEFIRST 3
SET LANGUAGE German
SELECT @@DATEFIRST AS f
SET LANGUAGE 'British English'
SELECT @@LANGUAGE AS l, @@DATEFIRST AS f, CAST('05/03/2024' AS date) AS d, DATENAME(month, '20240305') AS m
SET LANGUAGE Français
SELECT DATENAME(month, '20240805') AS m, DATENAME(weekday, '20240805') AS d, CAST('14 juil 2024' AS date) AS p
SET LANGUAGE us_english
SELECT @@DATEFIRST AS f, CAST('05/03/2024' AS date) AS d
----
info: Changed language setting to Deutsch.
3
info: Changed language setting to British.
British | 1 | 2024-03-05 | March
info: Changed language setting to Français.
août | lundi | 2024-07-14
info: Changed language setting to us_english.
7 | 2024-05-03

CREATE FUNCTION month_of(@d date) RETURNS nvarchar(30) AS BEGIN RETURN DATENAME(month, @d) END
----

SET LANGUAGE Svenska
SELECT dbo.month_of('20241101') AS m, CAST('24/03/05' AS date) AS d
SELECT language, date_format, date_first FROM sys.dm_exec_sessions WHERE session_id = @@SPID
SET LANGUAGE English
----
info: Changed language setting to Svenska.
november | 2024-03-05
Svenska | ymd | 1
info: Changed language setting to us_english.

SELECT langid, name, alias, dateformat, datefirst, lcid FROM sys.syslanguages ORDER BY langid
----
0 | us_english | English | mdy | 7 | 1033
1 | Deutsch | German | dmy | 1 | 1031
2 | Français | French | dmy | 1 | 1036
4 | Dansk | Danish | dmy | 1 | 1030
5 | Español | Spanish | dmy | 1 | 3082
6 | Italiano | Italian | dmy | 1 | 1040
7 | Nederlands | Dutch | dmy | 1 | 1043
8 | Norsk | Norwegian | dmy | 1 | 2068
9 | Português | Portuguese | dmy | 7 | 2070
11 | Svenska | Swedish | ymd | 1 | 1053
22 | Türkçe | Turkish | dmy | 1 | 1055
23 | British | British English | dmy | 1 | 2057
27 | Português (Brasil) | Brazilian | dmy | 7 | 1046

SET LANGUAGE Klingon
----
error 40515: SET LANGUAGE Klingon is not supported by this server.

SET LANGUAGE Polski
SELECT @@LANGUAGE AS l
----
error 40515: SET LANGUAGE Polski is not supported by this server.
us_english
