CREATE TABLE c (n int, a varchar(40)); INSERT c VALUES (1, 'alpha-12'), (2, 'Beta-345'), (3, NULL), (4, 'gamma')
----

SELECT n FROM c WHERE REGEXP_LIKE(a, '^[a-z]+-\d{2}$') ORDER BY n
----
1

SELECT n FROM c WHERE NOT REGEXP_LIKE(a, 'BETA', 'i') ORDER BY n
----
1
4

SELECT n, CASE WHEN REGEXP_LIKE(a, '\d') THEN 'digits' ELSE 'none' END FROM c ORDER BY n
----
1 | digits
2 | digits
3 | none
4 | none

CREATE TABLE checked (m varchar(50) CHECK (REGEXP_LIKE(m, '^[^@]+@[^@]+$'))); INSERT checked VALUES ('a@b'); SELECT * FROM checked
----
a@b

INSERT checked VALUES ('ab')
----
error 547: The INSERT statement conflicted with the CHECK constraint "CK__checked__m__22AA2999". The conflict occurred in database "master", table "dbo.checked", column 'm'.

SELECT REGEXP_COUNT(a, 'a'), REGEXP_COUNT(a, 'A', 1, 'i'), REGEXP_COUNT(a, 'a', 3), REGEXP_COUNT(a, 'a', 99) FROM c ORDER BY n
----
2 | 2 | 1 | 0
1 | 1 | 1 | 0
NULL | NULL | NULL | NULL
2 | 2 | 1 | 0

SELECT REGEXP_INSTR('ab12cd345', '\d+'), REGEXP_INSTR('ab12cd345', '\d+', 1, 2), REGEXP_INSTR('ab12cd345', '\d+', 1, 1, 1), REGEXP_INSTR('ab12cd345', '([a-z]+)(\d+)', 1, 2, 0, 'c', 2), REGEXP_INSTR('ab', 'x')
----
3 | 7 | 5 | 7 | 0

SELECT REGEXP_SUBSTR('ab12cd345', '\d+'), REGEXP_SUBSTR('ab12cd345', '\d+', 1, 2), REGEXP_SUBSTR('ab12cd345', '([a-z]+)(\d+)', 1, 1, 'c', 1), REGEXP_SUBSTR('ab', 'x'), REGEXP_SUBSTR(N'äé1', '.$')
----
12 | 345 | ab | NULL | 1

SELECT REGEXP_REPLACE('2024-01-31', '(\d+)-(\d+)-(\d+)', '\3.\2.\1'), REGEXP_REPLACE('aaa', 'a', 'b', 1, 2), REGEXP_REPLACE('a b  c', '\s+'), REGEXP_REPLACE('Aa', 'a', 'x', 1, 0, 'i'), REGEXP_REPLACE('abab', 'a', '[\0]', 2)
----
31.01.2024 | aba | abc | xx | ab[a]b

SELECT * FROM REGEXP_MATCHES('a1 b22', '([a-z])(\d+)')
----
1 | 1 | 2 | a1 | [{"value":"a","start":1,"length":1},{"value":"1","start":2,"length":1}]
2 | 4 | 6 | b22 | [{"value":"b","start":4,"length":1},{"value":"22","start":5,"length":2}]

SELECT match_id, start_position, match_value FROM c CROSS APPLY REGEXP_MATCHES(c.a, '\d') WHERE n = 2
----
1 | 6 | 3
2 | 7 | 4
3 | 8 | 5

SELECT * FROM REGEXP_SPLIT_TO_TABLE('a,b;c', '[,;]')
----
a | 1
b | 2
c | 3

SELECT REGEXP_SUBSTR('a', '(')
----
error 19300: An invalid Pattern '(' was provided. Error 'unclosed group' occurred during evaluation of the Pattern.

SELECT REGEXP_COUNT('a', 'a', 1, 'x')
----
error 19301: Invalid flag provided. 'x' are not valid flags. Only {c,i,s,m} flags are valid.

SELECT REGEXP_COUNT('a', 'a', 0)
----
error 19302: Invalid parameter 'start' of a regular expression: 0.
