/* Files: bcp_init with a data file, bcp_columns and bcp_colfmt or a format file, bcp_exec. */

#include "session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Describes every field: as text between tabs and line feeds, narrow or wide, or in the column's native form. */
static void describe_fields(HDBC connection, const char *layout, int columns) {
    static const unsigned char tab[] = "\t\0", line_feed[] = "\n\0";
    int wide = strcmp(layout, "wide") == 0, native = strcmp(layout, "native") == 0;
    must(bcp_columns(connection, columns) == SUCCEED, "bcp_columns", SQL_HANDLE_DBC, connection);
    for (int i = 1; i <= columns; i++) {
        BCP_RESULT described =
            native ? bcp_colfmt(connection, i, 0, SQL_VARLEN_DATA, SQL_VARLEN_DATA, NULL, 0, i)
                   : bcp_colfmt(connection, i, wide ? SQLNCHAR : SQLCHARACTER, 0, SQL_VARLEN_DATA,
                                i == columns ? line_feed : tab, wide ? 2 : 1, i);
        must(described == SUCCEED, "bcp_colfmt", SQL_HANDLE_DBC, connection);
    }
}

/* copy in|out|queryout NAME FILE ERRORS default|native|character|wide|format [columns=N] [format=FILE] [options of bcp_control]
 *
 * NAME is a table, or the query of queryout. `default` says nothing about the fields; `format` reads their description from the
 * format file, and the others but `default` write it there if one is named. Prints `copied N`. */
int copy_file(HDBC connection, int count, char **arguments) {
    must(count >= 5, "copy in|out|queryout NAME FILE ERRORS LAYOUT", 0, NULL);
    const char *direction = arguments[0], *name = arguments[1], *layout = arguments[4];
    const char *format = option(count, arguments, "format"), *columns = option(count, arguments, "columns");
    int query = strcmp(direction, "queryout") == 0;
    BCP_RESULT begun = bcp_initA(connection, query ? NULL : name, arguments[2], arguments[3],
                                 strcmp(direction, "in") == 0 ? DB_IN : DB_OUT);
    must(begun == SUCCEED, "bcp_init", SQL_HANDLE_DBC, connection);
    if (query)
        must(bcp_control(connection, BCPHINTSA, (void *)name) == SUCCEED, "the query", SQL_HANDLE_DBC, connection);
    control(connection, count, arguments);
    if (strcmp(layout, "format") == 0) {
        must(bcp_readfmtA(connection, format) == SUCCEED, "bcp_readfmt", SQL_HANDLE_DBC, connection);
    } else if (strcmp(layout, "default") != 0) {
        describe_fields(connection, layout, columns ? atoi(columns) : 0);
        if (format != NULL)
            must(bcp_writefmtA(connection, format) == SUCCEED, "bcp_writefmt", SQL_HANDLE_DBC, connection);
    }
    DBINT rows = -1;
    BCP_RESULT copied = bcp_exec(connection, &rows);
    if (copied != SUCCEED)
        show_diagnostics(SQL_HANDLE_DBC, connection);
    printf("copied %d\n", (int)rows);
    return copied == SUCCEED ? 0 : 1;
}
