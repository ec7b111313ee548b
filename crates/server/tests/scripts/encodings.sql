SELECT UNISTR(N'Z\00FCrich \+01F600 \\'), UNISTR('a$0062', '$'), UNISTR(NULL)
----
Zürich 😀 \ | ab | NULL

SELECT UNISTR(N'\00G0')
----
error 9803: Invalid data for type "unistr".

SELECT BASE64_ENCODE(0xFBFFFE), BASE64_ENCODE(0xFBFF, 1), BASE64_ENCODE(0xFBFF), BASE64_ENCODE(0x), BASE64_ENCODE(NULL)
----
+//+ | -_8 | +/8= |  | NULL

SELECT BASE64_DECODE('+//+'), BASE64_DECODE('-_8'), BASE64_DECODE(BASE64_ENCODE(CAST('hello' AS varbinary(10)))), BASE64_DECODE('')
----
0xFBFFFE | 0xFBFF | 0x68656C6C6F | 0x

SELECT BASE64_DECODE('a*b=')
----
error 9803: Invalid data for type "Base64Decode".

SELECT BASE64_ENCODE('text')
----
error 8116: Argument data type varchar is invalid for argument 1 of base64_encode function.

SELECT CAST(DECOMPRESS(COMPRESS('plain text')) AS varchar(20)), CAST(DECOMPRESS(COMPRESS(N'wide ä')) AS nvarchar(20)), CASE WHEN DATALENGTH(COMPRESS(REPLICATE(CAST('a' AS varchar(max)), 100000))) < 1000 THEN 'short' END, SUBSTRING(COMPRESS(0x01), 1, 3), DECOMPRESS(NULL)
----
plain text | wide ä | short | 0x1F8B08 | NULL

SELECT DECOMPRESS(0x0102)
----
error 9803: Invalid data for type "decompress".

SELECT COMPRESS(5)
----
error 8116: Argument data type int is invalid for argument 1 of compress function.

SELECT EDIT_DISTANCE('Colour', 'Color'), EDIT_DISTANCE('kitten', 'sitting'), EDIT_DISTANCE('ab', 'ba'), EDIT_DISTANCE('', 'abc'), EDIT_DISTANCE('a', NULL), EDIT_DISTANCE('abc', 'xyz', 5)
----
1 | 3 | 1 | 3 | NULL | 3

SELECT EDIT_DISTANCE_SIMILARITY('Colour', 'Color'), EDIT_DISTANCE_SIMILARITY('Organise', 'Organize'), EDIT_DISTANCE_SIMILARITY('', '')
----
83 | 88 | 100

SELECT CAST(JARO_WINKLER_DISTANCE('Colour', 'Color') AS decimal(8, 6)), JARO_WINKLER_SIMILARITY('Colour', 'Color'), JARO_WINKLER_SIMILARITY('abc', 'xyz')
----
0.033333 | 97 | 0
