/* The load of the experiment that the benchmark's table comes from: Arrow record batches, row by row, into bcp_sendrow. A library for
 * clients/race/drivers/odbc_bcp.py, which hands over the arrays of the Arrow C data interface. */

#include "../session.h"

#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The Arrow C data interface, after its specification. */
struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

/* The types of program variables that bcp_bind is told. */
enum { BOUND_BIT = 0x32, BOUND_INT = 0x38, BOUND_BIGINT = 0x7F, BOUND_FLOAT = 0x3E, BOUND_DATE = 0x28, BOUND_DATETIME2 = 0x2A,
       BOUND_DECIMAL = 0x6A };

/* A column, and the program variable that is bound to it. */
struct column {
    char kind;
    int null;
    const uint8_t *validity, *data;
    const int32_t *offsets;
    int64_t offset;
    union {
        int32_t number;
        int64_t large;
        double real;
        unsigned char bit;
        SQL_DATE_STRUCT date;
        SQL_TIMESTAMP_STRUCT moment;
        SQL_NUMERIC_STRUCT decimal;
    } variable;
};

static int is_set(const uint8_t *bits, int64_t position) { return bits[position >> 3] >> (position & 7) & 1; }

/* The day of the proleptic Gregorian calendar, of days since 1970-01-01: years are counted from March, so that leap days come last. */
static SQL_DATE_STRUCT date_of(int64_t days) {
    int64_t since_march = days + 719468, era = (since_march >= 0 ? since_march : since_march - 146096) / 146097;
    int64_t day_of_era = since_march - era * 146097;
    int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month = (5 * day_of_year + 2) / 153;
    SQL_DATE_STRUCT date;
    date.day = (SQLUSMALLINT)(day_of_year - (153 * month + 2) / 5 + 1);
    date.month = (SQLUSMALLINT)(month < 10 ? month + 3 : month - 9);
    date.year = (SQLSMALLINT)(year_of_era + era * 400 + (date.month <= 2));
    return date;
}

static SQL_TIMESTAMP_STRUCT moment_of(int64_t microseconds) {
    const int64_t day = 86400000000;
    int64_t days = microseconds / day - (microseconds % day < 0), rest = microseconds - days * day;
    SQL_DATE_STRUCT date = date_of(days);
    SQL_TIMESTAMP_STRUCT moment = {date.year, date.month, date.day, 0, 0, 0, 0};
    moment.hour = (SQLUSMALLINT)(rest / 3600000000);
    moment.minute = (SQLUSMALLINT)(rest / 60000000 % 60);
    moment.second = (SQLUSMALLINT)(rest / 1000000 % 60);
    moment.fraction = (SQLUINTEGER)(rest % 1000000 * 1000);
    return moment;
}

static void bind(HDBC connection, struct column *column, int ordinal) {
    static const struct {
        char kind;
        int type, bytes;
    } types[] = {{'i', BOUND_INT, 4},   {'l', BOUND_BIGINT, 8},
                 {'g', BOUND_FLOAT, 8}, {'b', BOUND_BIT, 1},
                 {'D', BOUND_DATE, sizeof(SQL_DATE_STRUCT)}, {'t', BOUND_DATETIME2, sizeof(SQL_TIMESTAMP_STRUCT)},
                 {'d', BOUND_DECIMAL, sizeof(SQL_NUMERIC_STRUCT)}, {'u', SQLCHARACTER, 0}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].kind == column->kind) {
            BCP_RESULT bound = bcp_bind(connection, (unsigned char *)&column->variable, 0, types[i].bytes, NULL, 0, types[i].type,
                                        ordinal);
            must(bound == SUCCEED, "bcp_bind", SQL_HANDLE_DBC, connection);
            return;
        }
    must(0, "a column of another type than those of the table", 0, NULL);
}

/* Puts a row's value into the bound variable, or points the driver at its text. */
static void take(HDBC connection, struct column *column, int64_t row, int ordinal) {
    int64_t position = column->offset + row;
    int null = column->validity != NULL && !is_set(column->validity, position);
    if (column->kind == 'u') {
        int32_t start = column->offsets[position], bytes = column->offsets[position + 1] - start;
        if (!null)
            bcp_colptr(connection, column->data + start, ordinal);
        bcp_collen(connection, null ? SQL_NULL_DATA : bytes, ordinal);
        return;
    }
    if (null != column->null) {
        bcp_collen(connection, null ? SQL_NULL_DATA : SQL_VARLEN_DATA, ordinal);
        column->null = null;
    }
    if (null)
        return;
    int64_t number;
    switch (column->kind) {
    case 'i': memcpy(&column->variable, column->data + 4 * position, 4); return;
    case 'l':
    case 'g': memcpy(&column->variable, column->data + 8 * position, 8); return;
    case 'b': column->variable.bit = (unsigned char)is_set(column->data, position); return;
    case 'D': column->variable.date = date_of(((const int32_t *)(const void *)column->data)[position]); return;
    case 't':
        memcpy(&number, column->data + 8 * position, 8);
        column->variable.moment = moment_of(number);
        return;
    default:
        memcpy(&number, column->data + 16 * position, 8);
        column->variable.decimal.sign = number >= 0;
        number = number < 0 ? -number : number;
        memcpy(column->variable.decimal.val, &number, 8);
    }
}

/* Connects, with the driver's narrow strings in UTF-8. */
HDBC race_open(void) {
    setlocale(LC_ALL, "C.UTF-8");
    return session_open();
}

/* Loads the batches and gives the number of rows that bcp_batch and bcp_done counted. `kinds` has a letter for each column: those of the
 * interface's format strings, D for tdD. A decimal is decimal(18,4), and of 64 bits. Ends the program on an error. */
int64_t race_send(HDBC connection, const char *table, const char *kinds, struct ArrowArray *const *batches, int64_t count,
                  int64_t batch_rows, const char *hint) {
    int columns = (int)strlen(kinds);
    struct column *bound = calloc((size_t)columns, sizeof *bound);
    must(bound != NULL, "memory", 0, NULL);
    must(bcp_initA(connection, table, NULL, NULL, DB_IN) == SUCCEED, "bcp_init", SQL_HANDLE_DBC, connection);
    must(bcp_control(connection, BCPHINTSA, (void *)hint) == SUCCEED, "hint", SQL_HANDLE_DBC, connection);
    must(bcp_control(connection, BCPKEEPNULLS, (void *)1) == SUCCEED, "keep nulls", SQL_HANDLE_DBC, connection);
    for (int i = 0; i < columns; i++) {
        bound[i].kind = kinds[i];
        bound[i].variable.decimal.precision = kinds[i] == 'd' ? 18 : 0;
        bound[i].variable.decimal.scale = kinds[i] == 'd' ? 4 : 0;
        bind(connection, &bound[i], i + 1);
    }
    int64_t sent = 0, committed = 0;
    for (int64_t n = 0; n < count; n++) {
        for (int i = 0; i < columns; i++) {
            const struct ArrowArray *array = batches[n]->children[i];
            bound[i].validity = array->null_count == 0 ? NULL : array->buffers[0];
            bound[i].offset = array->offset + batches[n]->offset;
            bound[i].offsets = kinds[i] == 'u' ? array->buffers[1] : NULL;
            bound[i].data = array->buffers[kinds[i] == 'u' ? 2 : 1];
        }
        for (int64_t row = 0; row < batches[n]->length; row++) {
            for (int i = 0; i < columns; i++)
                take(connection, &bound[i], row, i + 1);
            must(bcp_sendrow(connection) == SUCCEED, "bcp_sendrow", SQL_HANDLE_DBC, connection);
            if (batch_rows > 0 && ++sent % batch_rows == 0) {
                DBINT batch = bcp_batch(connection);
                must(batch >= 0, "bcp_batch", SQL_HANDLE_DBC, connection);
                committed += batch;
            }
        }
    }
    DBINT last = bcp_done(connection);
    must(last >= 0, "bcp_done", SQL_HANDLE_DBC, connection);
    free(bound);
    return committed + last;
}

/* Loads a native file with bcp_exec; gives the rows it counted. Ends the program on an error. */
int64_t race_copy(HDBC connection, const char *table, const char *file, int64_t batch_rows, const char *hint) {
    DBINT rows = -1;
    must(bcp_initA(connection, table, file, NULL, DB_IN) == SUCCEED, "bcp_init", SQL_HANDLE_DBC, connection);
    must(bcp_control(connection, BCPHINTSA, (void *)hint) == SUCCEED, "hint", SQL_HANDLE_DBC, connection);
    must(bcp_control(connection, BCPKEEPNULLS, (void *)1) == SUCCEED, "keep nulls", SQL_HANDLE_DBC, connection);
    must(bcp_control(connection, BCPBATCH, (void *)(intptr_t)batch_rows) == SUCCEED, "batch", SQL_HANDLE_DBC, connection);
    must(bcp_exec(connection, &rows) == SUCCEED, "bcp_exec", SQL_HANDLE_DBC, connection);
    return rows;
}
