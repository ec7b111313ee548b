#include "session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

HDBC session_open(void) {
    const char *text = getenv("ODBC_CONNECTION");
    SQLHENV environment = SQL_NULL_HENV;
    HDBC connection = SQL_NULL_HDBC;
    if (text == NULL) {
        fputs("ODBC_CONNECTION is not set\n", stderr);
        exit(2);
    }
    must(SQL_SUCCEEDED(SQLAllocHandle(SQL_HANDLE_ENV, SQL_NULL_HANDLE, &environment)), "environment", 0, NULL);
    SQLSetEnvAttr(environment, SQL_ATTR_ODBC_VERSION, (SQLPOINTER)SQL_OV_ODBC3, 0);
    must(SQL_SUCCEEDED(SQLAllocHandle(SQL_HANDLE_DBC, environment, &connection)), "connection", SQL_HANDLE_ENV, environment);
    must(SQL_SUCCEEDED(SQLSetConnectAttr(connection, SQL_COPT_SS_BCP, (SQLPOINTER)SQL_BCP_ON, SQL_IS_INTEGER)),
         "SQL_COPT_SS_BCP", SQL_HANDLE_DBC, connection);
    SQLRETURN opened = SQLDriverConnect(connection, NULL, (SQLCHAR *)text, SQL_NTS, NULL, 0, NULL, SQL_DRIVER_NOPROMPT);
    must(SQL_SUCCEEDED(opened), "connect", SQL_HANDLE_DBC, connection);
    return connection;
}

void show_diagnostics(SQLSMALLINT kind, SQLHANDLE handle) {
    SQLCHAR state[6], message[2048];
    SQLINTEGER number, message_state, class, line;
    SQLSMALLINT length;
    for (SQLSMALLINT record = 1;; record++) {
        if (!SQL_SUCCEEDED(SQLGetDiagRec(kind, handle, record, state, &number, message, sizeof message, &length)))
            return;
        message_state = class = line = 0;
        SQLGetDiagField(kind, handle, record, SQL_DIAG_SS_MSGSTATE, &message_state, SQL_IS_INTEGER, NULL);
        SQLGetDiagField(kind, handle, record, SQL_DIAG_SS_SEVERITY, &class, SQL_IS_INTEGER, NULL);
        SQLGetDiagField(kind, handle, record, SQL_DIAG_SS_LINE, &line, SQL_IS_UINTEGER, NULL);
        printf("error %s %d state=%d class=%d line=%u %s\n", state, (int)number, (int)message_state, (int)class,
               (unsigned)line, message);
    }
}

HSTMT session_statement(HDBC connection) {
    HSTMT statement = SQL_NULL_HSTMT;
    must(SQL_SUCCEEDED(SQLAllocHandle(SQL_HANDLE_STMT, connection, &statement)), "statement", SQL_HANDLE_DBC, connection);
    return statement;
}

void must(int condition, const char *what, SQLSMALLINT kind, SQLHANDLE handle) {
    if (condition)
        return;
    printf("failed %s\n", what);
    if (handle != NULL)
        show_diagnostics(kind, handle);
    fflush(stdout);
    exit(1);
}

const char *option(int count, char **arguments, const char *name) {
    size_t length = strlen(name);
    for (int i = 0; i < count; i++)
        if (strncmp(arguments[i], name, length) == 0 && arguments[i][length] == '=')
            return arguments[i] + length + 1;
    return NULL;
}

void control(HDBC connection, int count, char **arguments) {
    static const struct {
        const char *name;
        int option;
    } numbers[] = {{"batch", BCPBATCH},           {"first", BCPFIRST},           {"last", BCPLAST},
                   {"max_errors", BCPMAXERRS},    {"keep_nulls", BCPKEEPNULLS}, {"keep_identity", BCPKEEPIDENTITY},
                   {"code_page", BCPFILECP}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const char *value = option(count, arguments, numbers[i].name);
        if (value != NULL)
            must(bcp_control(connection, numbers[i].option, (void *)strtol(value, NULL, 10)) == SUCCEED, numbers[i].name,
                 SQL_HANDLE_DBC, connection);
    }
    const char *hint = option(count, arguments, "hint");
    if (hint != NULL)
        must(bcp_control(connection, BCPHINTSA, (void *)hint) == SUCCEED, "hint", SQL_HANDLE_DBC, connection);
}
