-- The fill factor is for trees that are built: by CREATE INDEX, and by loads that lock an empty table.
CREATE TABLE dbo.inserted (id int NOT NULL CONSTRAINT inserted_pk PRIMARY KEY CLUSTERED WITH (FILLFACTOR = 10), filler char(200))
----

CREATE TABLE dbo.built (id int NOT NULL CONSTRAINT built_pk PRIMARY KEY CLUSTERED WITH (FILLFACTOR = 10), filler char(200))
----

INSERT INTO inserted SELECT value, 'x' FROM GENERATE_SERIES(1, 20000)
----
affected 20000

INSERT INTO built WITH (TABLOCK) SELECT value, 'x' FROM GENERATE_SERIES(1, 20000)
----
affected 20000

-- 8,096 bytes hold 38 rows of 211 bytes and a slot of 2, or 4 of them at a tenth.
SELECT OBJECT_NAME(object_id), CAST(ROUND(avg_page_space_used_in_percent, 0) AS int), page_count
FROM sys.dm_db_index_physical_stats(DB_ID(), NULL, NULL, NULL, 'DETAILED') WHERE index_level = 0 AND OBJECT_NAME(object_id) IN ('inserted', 'built') ORDER BY 1
----
built | 11 | 5000
inserted | 100 | 527

SELECT OBJECT_NAME(object_id), is_data_minimally_logged, CASE failed_conditions WHEN '' THEN 'none' ELSE failed_conditions END FROM sys.dm_bulkwire_loads WHERE row_count = 20000 ORDER BY 1
----
built | 1 | none
inserted | 0 | TABLE_LOCK
