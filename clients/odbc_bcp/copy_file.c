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

/* Describes fields as a file has them, a line each: type, bytes of the prefix, length, the terminator in hexadecimal or `-`,
 * and the column. -10 stands for SQL_VARLEN_DATA. */
static void read_fields(HDBC connection, const char *path) {
    FILE *file = path ? fopen(path, "r") : NULL;
    must(file != NULL, "the file of fields", 0, NULL);
    int columns = 0;
    must(fscanf(file, "%d", &columns) == 1, "the number of fields", 0, NULL);
    must(bcp_columns(connection, columns) == SUCCEED, "bcp_columns", SQL_HANDLE_DBC, connection);
    for (int i = 1; i <= columns; i++) {
        int type, prefix, length, column, bytes = 0;
        char digits[64];
        unsigned char terminator[32];
        must(fscanf(file, "%d %d %d %63s %d", &type, &prefix, &length, digits, &column) == 5, "a field", 0, NULL);
        for (const char *pair = digits; *pair != '-' && *pair != 0; pair += 2) {
            unsigned value;
            must(sscanf(pair, "%2x", &value) == 1, "a terminator", 0, NULL);
            terminator[bytes++] = (unsigned char)value;
        }
        must(bcp_colfmt(connection, i, (unsigned char)type, prefix, length, bytes ? terminator : NULL, bytes, column) ==
                 SUCCEED,
             "bcp_colfmt", SQL_HANDLE_DBC, connection);
    }
    fclose(file);
}

/* copy in|out|queryout NAME FILE ERRORS default|native|character|wide|fields|format [columns=N] [fields=FILE] [format=FILE]
 *      [options of bcp_control]
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
        if (strcmp(layout, "fields") == 0)
            read_fields(connection, option(count, arguments, "fields"));
        else
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
