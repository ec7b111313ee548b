CREATE TABLE p (id int, name nvarchar(10), price decimal(9, 2))
----

BULK INSERT p FROM 'people.txt'
----
affected 3

SELECT * FROM p ORDER BY id
----
1 | Ada | 12.50
2 | NULL | NULL
3 | Zoë | -0.01

SELECT @@ROWCOUNT
----
3

TRUNCATE TABLE p; BULK INSERT p FROM 'people.txt' WITH (FIRSTROW = 2, LASTROW = 2); SELECT id FROM p
----
affected 1
2

BULK INSERT p FROM 'people.txt' WITH (FIRSTROW = 3, LASTROW = 2)
----
error 4880: Cannot bulk load. When you use the FIRSTROW and LASTROW parameters, the value for FIRSTROW cannot be greater than the value for LASTROW.

TRUNCATE TABLE p; BULK INSERT p FROM 'people.txt' WITH (BATCHSIZE = 2)
----
affected 2
affected 1

TRUNCATE TABLE p; BULK INSERT p FROM 'pipe.txt' WITH (FIELDTERMINATOR = '|', ROWTERMINATOR = '0x7E'); SELECT COUNT(*) FROM p
----
affected 3
3

TRUNCATE TABLE p; BULK INSERT p FROM 'bad.txt'
----
error 4864: Bulk load data conversion error (type mismatch or invalid character for the specified codepage) for row 2, column 1 (id).
error 4863: Bulk load data conversion error (truncation) for row 3, column 2 (name).
error 4864: Bulk load data conversion error (type mismatch or invalid character for the specified codepage) for row 4, column 3 (price).
error 4867: Bulk load data conversion error (overflow) for row 6, column 3 (price).
affected 2

SELECT id FROM p ORDER BY id
----
1
5

TRUNCATE TABLE p; BULK INSERT p FROM 'bad.txt' WITH (MAXERRORS = 1)
----
error 4864: Bulk load data conversion error (type mismatch or invalid character for the specified codepage) for row 2, column 1 (id).
error 4863: Bulk load data conversion error (truncation) for row 3, column 2 (name).
error 4865: Cannot bulk load because the maximum number of errors (1) was exceeded.
error 7399: The OLE DB provider "BULK" for linked server "(null)" reported an error. The provider did not give any information about the error.
error 7330: Cannot fetch a row from OLE DB provider "BULK" for linked server "(null)".

SELECT COUNT(*) FROM p
----
0

BEGIN TRY BULK INSERT p FROM 'bad.txt' WITH (MAXERRORS = 0) END TRY BEGIN CATCH SELECT ERROR_NUMBER() END CATCH
----
7330

BULK INSERT p FROM 'missing.txt'
----
error 4860: Cannot bulk load. The file "missing.txt" does not exist or you don't have file access rights.

BULK INSERT p FROM '/etc/passwd'
----
error 4861

BULK INSERT p FROM '../people.txt'
----
error 4861

BULK INSERT nowhere FROM 'people.txt'
----
error 208: Invalid object name 'nowhere'.

BULK INSERT p FROM 'people.txt' WITH (TABLOCK, TABLOCK)
----
error 4130: A duplicate hint was specified for the BULK rowset.

BULK INSERT p FROM 'people.txt' WITH (ORDER (nope))
----
error 207: Invalid column name 'nope'.

BULK INSERT p FROM 'people.txt' WITH (NOSUCHOPTION = 1)
----
error 102: Incorrect syntax near 'NOSUCHOPTION'.

TRUNCATE TABLE p; BULK INSERT p FROM 'latin1.txt' WITH (CODEPAGE = 'ACP'); BULK INSERT p FROM 'oem.txt' WITH (CODEPAGE = 'OEM'); SELECT name FROM p
----
affected 1
affected 1
Zoë
Zoë

TRUNCATE TABLE p; BULK INSERT p FROM 'wide.txt' WITH (DATAFILETYPE = 'widechar'); SELECT * FROM p ORDER BY id
----
affected 2
1 | Zoë 😀 | 1.00
2 | NULL | 2.00

TRUNCATE TABLE p; BULK INSERT p FROM 'wide.txt'
----
info: Bulk load: DataFileType was incorrectly specified as char. DataFileType will be assumed to be widechar because the data file has a Unicode signature.
affected 2

TRUNCATE TABLE p; BULK INSERT p FROM 'people.txt' WITH (DATAFILETYPE = 'widechar')
----
info: Bulk load: DataFileType was incorrectly specified as widechar. DataFileType will be assumed to be char because the data file does not have a Unicode signature.
affected 3

CREATE TABLE c (id int, name varchar(30), price float)
----

BULK INSERT c FROM 'quoted.csv' WITH (FORMAT = 'CSV', FIRSTROW = 2)
----
affected 3

SELECT id, REPLACE(REPLACE(name, CHAR(13), '\r'), CHAR(10), '\n'), price FROM c ORDER BY id
----
1 | Ada, "the" first | 1.5
2 | two\r\nlines | NULL
3 | NULL | 3

BULK INSERT c FROM 'ragged.csv' WITH (FORMAT = 'CSV')
----
error 4879: Bulk load failed due to invalid column value in CSV data file ragged.csv in row 2, column 3.
error 7399
error 7330

BULK INSERT c FROM 'quoted.csv' WITH (FORMAT = 'CSV', FIELDQUOTE = 'ab')
----
error 4878: Invalid quote character specified for bulk load. Quote character can be one single byte or Unicode character.

BULK INSERT c FROM 'quoted.csv' WITH (FORMAT = 'CSV', DATAFILETYPE = 'native')
----
error 5339

CREATE TABLE keyed (id int IDENTITY(100, 1) PRIMARY KEY, n int CONSTRAINT small CHECK (n < 8), twice AS (n * 2), price int NOT NULL DEFAULT 5)
----

CREATE TABLE plain_keyed (id int IDENTITY(100, 1) PRIMARY KEY, n int CONSTRAINT small_n CHECK (n < 8), price int NOT NULL DEFAULT 5)
----

BULK INSERT plain_keyed FROM 'keys.txt'; SELECT id, n, price FROM plain_keyed ORDER BY id
----
affected 2
100 | 7 | 70
101 | 9 | 90

TRUNCATE TABLE plain_keyed; BULK INSERT plain_keyed FROM 'keys.txt' WITH (KEEPIDENTITY); SELECT id FROM plain_keyed ORDER BY id
----
affected 2
7
9

BULK INSERT plain_keyed FROM 'keys.txt' WITH (KEEPIDENTITY)
----
error 2627

TRUNCATE TABLE plain_keyed; BULK INSERT plain_keyed FROM 'keys.txt' WITH (CHECK_CONSTRAINTS)
----
error 547

SELECT COUNT(*) FROM plain_keyed
----
0

CREATE TABLE defaulted (id int, name varchar(10) NOT NULL DEFAULT 'none', price int NULL DEFAULT 4)
----

BULK INSERT defaulted FROM 'people.txt' WITH (LASTROW = 2, FIRSTROW = 2); SELECT * FROM defaulted
----
affected 1
2 | none | 4

BULK INSERT defaulted FROM 'people.txt' WITH (LASTROW = 2, FIRSTROW = 2, KEEPNULLS)
----
error 4869: The bulk load failed. Unexpected NULL value in data file row 2, column 2. The destination column (name) is defined as NOT NULL.
affected 0

CREATE TABLE s (id int, name nvarchar(20))
----

BULK INSERT s FROM 'swapped.txt' WITH (FORMATFILE = 'swapped.fmt'); BULK INSERT s FROM 'swapped.txt' WITH (FORMATFILE = 'swapped.xml'); SELECT * FROM s ORDER BY id
----
affected 2
affected 2
1 | Ada
1 | Ada
2 | Bob
2 | Bob

BULK INSERT s FROM 'swapped.txt' WITH (FORMATFILE = 'broken.fmt')
----
error 4862

CREATE TABLE n (v int NOT NULL)
----

BULK INSERT n FROM 'native.bin' WITH (DATAFILETYPE = 'native'); SELECT v FROM n ORDER BY v
----
affected 2
1
2

BEGIN TRAN; BULK INSERT n FROM 'native.bin' WITH (DATAFILETYPE = 'native', BATCHSIZE = 1); SELECT COUNT(*) FROM n; ROLLBACK; SELECT COUNT(*) FROM n
----
affected 1
affected 1
4
2

SELECT CAST(BulkColumn AS varbinary(6)) FROM OPENROWSET(BULK 'note.txt', SINGLE_BLOB) AS f
----
0x636166E9206F

SELECT LEFT(BulkColumn, 8), LEN(BulkColumn) FROM OPENROWSET(BULK 'note.txt', SINGLE_CLOB) AS f
----
café one | 17

SELECT note FROM OPENROWSET(BULK 'wide_note.txt', SINGLE_NCLOB) AS f(note)
----
Zoë 😀

SELECT BulkColumn FROM OPENROWSET(BULK 'note.txt', SINGLE_NCLOB) AS f
----
error 4809: SINGLE_NCLOB requires a UNICODE (widechar) input file. The file specified is not Unicode.

SELECT BulkColumn FROM OPENROWSET(BULK 'wide_note.txt', SINGLE_CLOB) AS f
----
error 4806: SINGLE_CLOB requires a double-byte character set (DBCS) (char) input file. The file specified is Unicode.

SELECT * FROM OPENROWSET(BULK 'note.txt', SINGLE_CLOB)
----
error 491: A correlation name must be specified for the bulk rowset in the from clause.

SELECT id, name FROM OPENROWSET(BULK 'swapped.txt', FORMATFILE = 'swapped.xml') AS f WHERE id > 1
----
[id int null, name nvarchar(12) null]
2 | Bob

INSERT s SELECT f.id + 10, f.name FROM OPENROWSET(BULK 'swapped.txt', FORMATFILE = 'swapped.fmt', FIRSTROW = 2) AS f(id, name); SELECT id FROM s WHERE id > 10
----
affected 1
12

SELECT COUNT(*) FROM OPENROWSET(BULK 'bad.txt', FORMATFILE = 'missing.fmt') AS f
----
error 4860: Cannot bulk load. The file "missing.fmt" does not exist or you don't have file access rights.

TRUNCATE TABLE plain_keyed; INSERT plain_keyed SELECT * FROM OPENROWSET(BULK 'keys.txt', FORMATFILE = 'keys.fmt') AS f
----
error 547

INSERT plain_keyed WITH (IGNORE_CONSTRAINTS) SELECT * FROM OPENROWSET(BULK 'keys.txt', FORMATFILE = 'keys.fmt') AS f; SELECT id - MIN(id) OVER (), n FROM plain_keyed ORDER BY id
----
affected 2
0 | 7
1 | 9

SELECT is_not_trusted FROM sys.check_constraints WHERE name = 'small_n'
----
1

TRUNCATE TABLE plain_keyed; INSERT plain_keyed WITH (TABLOCK, KEEPIDENTITY, IGNORE_CONSTRAINTS, IGNORE_TRIGGERS) (id, n) SELECT id, n FROM OPENROWSET(BULK 'keys.txt', FORMATFILE = 'keys.fmt') AS f; SELECT id, n, price FROM plain_keyed ORDER BY id
----
affected 2
7 | 7 | 5
9 | 9 | 5

TRUNCATE TABLE defaulted; INSERT defaulted WITH (KEEPDEFAULTS) SELECT id, name, price FROM OPENROWSET(BULK 'people.txt', FORMATFILE = 'people.fmt', FIRSTROW = 2, LASTROW = 2) AS f; SELECT * FROM defaulted
----
affected 1
2 | none | 4

INSERT defaulted SELECT id, name, price FROM OPENROWSET(BULK 'people.txt', FORMATFILE = 'people.fmt', FIRSTROW = 2, LASTROW = 2) AS f
----
error 515

INSERT defaulted WITH (KEEPIDENTITY) SELECT 1, 'a', 2
----
error 321

-- Dates of digits alone are read by DATEFORMAT, which is mdy.
CREATE TABLE us (id int, d date, t datetime2(0))
----

BULK INSERT us FROM 'us_dates.txt'; SELECT * FROM us ORDER BY id
----
affected 2
1 | 2024-12-31 | 2024-12-31 10:15:00
2 | 2024-02-29 | 2024-02-29 00:00:00

-- The documentation's own way to load numbers with exponents into a decimal.
CREATE TABLE fl (c1 float, c2 decimal(5, 4))
----

BULK INSERT fl FROM 'floats.txt' WITH (FORMATFILE = 'floats.xml'); SELECT c1, c2 FROM fl
----
affected 1
0.08 | 0.0800

-- Values in quotes whose fields a format file names.
CREATE TABLE quoted (id int, name varchar(20), note varchar(20))
----

SELECT * FROM OPENROWSET(BULK 'in_quotes.csv', FORMAT = 'CSV', FORMATFILE = 'quoted.fmt') AS f
----
1 | plain
2 | a,b
3 | NULL

BULK INSERT quoted FROM 'in_quotes.csv' WITH (FORMAT = 'CSV', FORMATFILE = 'quoted_rows.fmt', FIRSTROW = 2); SELECT id, REPLACE(name, CHAR(10), '/'), note FROM quoted
----
affected 2
2 | x | a,b
3 | two/lines | NULL

SELECT * FROM OPENROWSET(BULK 'floats.txt', FORMAT = 'CSV', FORMATFILE = 'native.fmt') AS f
----
error 4862: Cannot bulk load because a file with quotes is text, and the field id is native.

-- The letters of a field are those of its collation.
SELECT id, name FROM OPENROWSET(BULK 'polish.txt', FORMATFILE = 'polish.fmt') AS f
----
1 | Zażółć

SELECT name FROM OPENROWSET(BULK 'body.txt', FORMATFILE = 'endless.fmt') AS f
----
error 4862: Cannot bulk load because the file "body.txt" could not be read. format file, line 3: field 1: "name" has no prefix, no length and no terminator, so nothing says where its values end
