/* What bulk copy does not touch and pyodbc does not reach: error fields, output parameters, parts of values, arrays. */

#include "session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* diagnose SQL: prints every diagnostic of every result. */
int diagnose(HDBC connection, int count, char **arguments) {
    must(count == 1, "diagnose SQL", 0, NULL);
    HSTMT statement = session_statement(connection);
    SQLRETURN status = SQLExecDirect(statement, (SQLCHAR *)arguments[0], SQL_NTS);
    while (status != SQL_NO_DATA) {
        if (status != SQL_SUCCESS)
            show_diagnostics(SQL_HANDLE_STMT, statement);
        printf("status %d\n", status);
        status = SQLMoreResults(statement);
    }
    return 0;
}

/* output: calls sp_executesql with an input and two outputs; prints them and the return status. */
int call_with_output(HDBC connection, int count, char **arguments) {
    (void)count, (void)arguments;
    HSTMT statement = session_statement(connection);
    SQLINTEGER status = -1, number = 0;
    SQLLEN status_bytes = 0, number_bytes = SQL_NULL_DATA, text_bytes = 0, input_bytes = 0;
    SQLCHAR text[64] = "";
    SQLINTEGER input = 20;
    char sql[] = "SET @number = @in * 2 + 2; SET @text = N'twenty-' + @text; SELECT @in AS echoed";
    char declared[] = "@in int, @number int OUTPUT, @text nvarchar(50) OUTPUT";
    SQLLEN sql_bytes = SQL_NTS, declared_bytes = SQL_NTS;
    strcpy((char *)text, "one");
    text_bytes = SQL_NTS;
    SQLBindParameter(statement, 1, SQL_PARAM_OUTPUT, SQL_C_SLONG, SQL_INTEGER, 0, 0, &status, 0, &status_bytes);
    SQLBindParameter(statement, 2, SQL_PARAM_INPUT, SQL_C_CHAR, SQL_WVARCHAR, 200, 0, sql, 0, &sql_bytes);
    SQLBindParameter(statement, 3, SQL_PARAM_INPUT, SQL_C_CHAR, SQL_WVARCHAR, 200, 0, declared, 0, &declared_bytes);
    SQLBindParameter(statement, 4, SQL_PARAM_INPUT, SQL_C_SLONG, SQL_INTEGER, 0, 0, &input, 0, &input_bytes);
    SQLBindParameter(statement, 5, SQL_PARAM_INPUT_OUTPUT, SQL_C_SLONG, SQL_INTEGER, 0, 0, &number, 0, &number_bytes);
    SQLBindParameter(statement, 6, SQL_PARAM_INPUT_OUTPUT, SQL_C_CHAR, SQL_WVARCHAR, 50, 0, text, sizeof text, &text_bytes);
    SQLRETURN done = SQLExecDirect(statement, (SQLCHAR *)"{? = call sp_executesql(?, ?, ?, ?, ?)}", SQL_NTS);
    must(SQL_SUCCEEDED(done), "the call", SQL_HANDLE_STMT, statement);
    SQLINTEGER echoed = 0;
    must(SQL_SUCCEEDED(SQLFetch(statement)), "the row", SQL_HANDLE_STMT, statement);
    SQLGetData(statement, 1, SQL_C_SLONG, &echoed, 0, NULL);
    while (SQLMoreResults(statement) != SQL_NO_DATA)
        continue;
    printf("echoed %d\nnumber %d\ntext %s\nstatus %d\n", (int)echoed, (int)number, text, (int)status);
    return 0;
}

/* describe SQL: SQLPrepare, SQLDescribeParam for each marker, SQLDescribeCol for each column of the result. */
int describe_parameters(HDBC connection, int count, char **arguments) {
    must(count == 1, "describe SQL", 0, NULL);
    HSTMT statement = session_statement(connection);
    must(SQL_SUCCEEDED(SQLPrepare(statement, (SQLCHAR *)arguments[0], SQL_NTS)), "prepare", SQL_HANDLE_STMT, statement);
    SQLSMALLINT markers = 0, columns = 0, type, digits, nullable, length;
    SQLULEN size;
    SQLCHAR name[129];
    must(SQL_SUCCEEDED(SQLNumParams(statement, &markers)), "SQLNumParams", SQL_HANDLE_STMT, statement);
    for (SQLUSMALLINT i = 1; i <= markers; i++) {
        must(SQL_SUCCEEDED(SQLDescribeParam(statement, i, &type, &size, &digits, &nullable)), "SQLDescribeParam",
             SQL_HANDLE_STMT, statement);
        printf("parameter %d type=%d size=%lu digits=%d nullable=%d\n", i, type, (unsigned long)size, digits, nullable);
    }
    must(SQL_SUCCEEDED(SQLNumResultCols(statement, &columns)), "SQLNumResultCols", SQL_HANDLE_STMT, statement);
    for (SQLUSMALLINT i = 1; i <= columns; i++) {
        must(SQL_SUCCEEDED(SQLDescribeCol(statement, i, name, sizeof name, &length, &type, &size, &digits, &nullable)),
             "SQLDescribeCol", SQL_HANDLE_STMT, statement);
        printf("column %s type=%d size=%lu digits=%d nullable=%d\n", name, type, (unsigned long)size, digits, nullable);
    }
    return 0;
}

enum { PART_BYTES = 7001, PARTS = 900 };

/* The byte at a position of the value that is streamed. */
static unsigned char expected(size_t position) { return (unsigned char)((position * 31 + position / 251) % 256); }

/* stream: sends varbinary(max) in parts with SQLPutData and reads it back in parts with SQLGetData. */
int stream_large_values(HDBC connection, int count, char **arguments) {
    (void)count, (void)arguments;
    HSTMT statement = session_statement(connection);
    static unsigned char part[PART_BYTES];
    SQLLEN at_execution = SQL_DATA_AT_EXEC;
    must(SQL_SUCCEEDED(SQLExecDirect(statement, (SQLCHAR *)"CREATE TABLE #large (b varbinary(max))", SQL_NTS)), "create",
         SQL_HANDLE_STMT, statement);
    SQLBindParameter(statement, 1, SQL_PARAM_INPUT, SQL_C_BINARY, SQL_VARBINARY, 0, 0, (SQLPOINTER)1, 0, &at_execution);
    SQLRETURN status = SQLExecDirect(statement, (SQLCHAR *)"INSERT INTO #large VALUES (?)", SQL_NTS);
    must(status == SQL_NEED_DATA, "the insert", SQL_HANDLE_STMT, statement);
    SQLPOINTER token;
    size_t position = 0;
    must(SQLParamData(statement, &token) == SQL_NEED_DATA, "SQLParamData", SQL_HANDLE_STMT, statement);
    for (int i = 0; i < PARTS; i++) {
        for (size_t k = 0; k < PART_BYTES; k++)
            part[k] = expected(position++);
        must(SQL_SUCCEEDED(SQLPutData(statement, part, PART_BYTES)), "SQLPutData", SQL_HANDLE_STMT, statement);
    }
    must(SQL_SUCCEEDED(SQLParamData(statement, &token)), "the end of the value", SQL_HANDLE_STMT, statement);
    SQLFreeStmt(statement, SQL_RESET_PARAMS);
    must(SQL_SUCCEEDED(SQLExecDirect(statement, (SQLCHAR *)"SELECT b FROM #large", SQL_NTS)), "select", SQL_HANDLE_STMT,
         statement);
    must(SQL_SUCCEEDED(SQLFetch(statement)), "fetch", SQL_HANDLE_STMT, statement);
    size_t read = 0, wrong = 0, calls = 0;
    unsigned char buffer[4096];
    SQLLEN left;
    while (SQL_SUCCEEDED(status = SQLGetData(statement, 1, SQL_C_BINARY, buffer, sizeof buffer, &left))) {
        size_t bytes = left == SQL_NO_TOTAL || left > (SQLLEN)sizeof buffer ? sizeof buffer : (size_t)left;
        for (size_t k = 0; k < bytes; k++)
            wrong += buffer[k] != expected(read++);
        calls++;
        if (status == SQL_SUCCESS)
            break;
    }
    printf("sent %zu\nread %zu\nwrong %zu\nparts %s\n", position, read, wrong, calls > 1000 ? "many" : "few");
    return 0;
}

enum { SETS = 1000, ROWS = 300 };

/* Fetches with SQL_ATTR_ROW_ARRAY_SIZE. Asked for before the query is executed it makes the driver open a server cursor. */
static void fetch_blocks(HSTMT statement, int cursor) {
    static SQLINTEGER fetched[ROWS];
    SQLULEN rows = 0, total = 0;
    long long sum = 0;
    if (cursor)
        SQLSetStmtAttr(statement, SQL_ATTR_ROW_ARRAY_SIZE, (SQLPOINTER)ROWS, 0);
    must(SQL_SUCCEEDED(SQLExecDirect(statement, (SQLCHAR *)"SELECT n FROM #n ORDER BY n", SQL_NTS)), "select",
         SQL_HANDLE_STMT, statement);
    SQLSetStmtAttr(statement, SQL_ATTR_ROW_ARRAY_SIZE, (SQLPOINTER)ROWS, 0);
    SQLSetStmtAttr(statement, SQL_ATTR_ROWS_FETCHED_PTR, &rows, 0);
    SQLBindCol(statement, 1, SQL_C_SLONG, fetched, 0, NULL);
    while (SQL_SUCCEEDED(SQLFetch(statement))) {
        for (SQLULEN i = 0; i < rows; i++)
            sum += fetched[i];
        total += rows;
    }
    printf("rows %lu sum %lld\n", (unsigned long)total, sum);
    SQLFreeHandle(SQL_HANDLE_STMT, statement);
}

/* arrays [cursor=yes]: inserts with SQL_ATTR_PARAMSET_SIZE, whose last set is refused, and fetches the rows in blocks. */
int arrays(HDBC connection, int count, char **arguments) {
    HSTMT statement = session_statement(connection);
    static SQLINTEGER numbers[SETS];
    static SQLLEN indicators[SETS];
    static SQLUSMALLINT outcomes[SETS];
    SQLULEN processed = 0;
    must(SQL_SUCCEEDED(SQLExecDirect(statement, (SQLCHAR *)"CREATE TABLE #n (n int PRIMARY KEY)", SQL_NTS)), "create",
         SQL_HANDLE_STMT, statement);
    for (int i = 0; i < SETS; i++)
        numbers[i] = i == SETS - 1 ? 0 : i;
    SQLSetStmtAttr(statement, SQL_ATTR_PARAMSET_SIZE, (SQLPOINTER)SETS, 0);
    SQLSetStmtAttr(statement, SQL_ATTR_PARAM_STATUS_PTR, outcomes, 0);
    SQLSetStmtAttr(statement, SQL_ATTR_PARAMS_PROCESSED_PTR, &processed, 0);
    SQLBindParameter(statement, 1, SQL_PARAM_INPUT, SQL_C_SLONG, SQL_INTEGER, 0, 0, numbers, 0, indicators);
    SQLRETURN status = SQLExecDirect(statement, (SQLCHAR *)"INSERT INTO #n VALUES (?)", SQL_NTS);
    int errors = 0, good = 0;
    while (status != SQL_NO_DATA) {
        errors += status == SQL_ERROR;
        status = SQLMoreResults(statement);
    }
    for (SQLULEN i = 0; i < processed; i++)
        good += outcomes[i] == SQL_PARAM_SUCCESS || outcomes[i] == SQL_PARAM_SUCCESS_WITH_INFO;
    printf("processed %lu\ngood %d\nlast %s\n", (unsigned long)processed, good,
           outcomes[SETS - 1] == SQL_PARAM_ERROR ? "refused" : "taken");
    fetch_blocks(session_statement(connection), option(count, arguments, "cursor") != NULL);
    return errors > 0 && good == 0;
}
