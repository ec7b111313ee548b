/* Rows from program variables: bcp_init, bcp_bind, bcp_sendrow, bcp_batch, bcp_done. */

#include "session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A file of cells, little-endian: u32 columns; a column: u32 ordinal, u32 type, u32 width of the indicators (4, or 0: the
 * length is told with bcp_collen); u32 rows; a cell: i32 bytes (-1 NULL), bytes. */
struct cells {
    unsigned char *data;
    size_t size, position;
};

static void read_all(struct cells *cells, const char *path) {
    FILE *file = fopen(path, "rb");
    must(file != NULL && fseek(file, 0, SEEK_END) == 0, "the file of cells", 0, NULL);
    cells->size = (size_t)ftell(file);
    cells->position = 0;
    cells->data = malloc(cells->size + 1);
    rewind(file);
    must(cells->data != NULL && fread(cells->data, 1, cells->size, file) == cells->size, "reading", 0, NULL);
    fclose(file);
}

static int32_t number(struct cells *cells) {
    int32_t value;
    must(cells->position + sizeof value <= cells->size, "a number in the file of cells", 0, NULL);
    memcpy(&value, cells->data + cells->position, sizeof value);
    cells->position += sizeof value;
    return value;
}

/* Points the driver at the next cell: at its length, if the column was bound with an indicator, else at its value. */
static void point(HDBC connection, struct cells *cells, int ordinal, int width) {
    unsigned char *start = cells->data + cells->position;
    int32_t bytes = number(cells);
    cells->position += bytes > 0 ? (size_t)bytes : 0;
    must(cells->position <= cells->size, "a cell in the file of cells", 0, NULL);
    must(bcp_colptr(connection, start + (width ? 0 : sizeof bytes), ordinal) == SUCCEED, "bcp_colptr", SQL_HANDLE_DBC,
         connection);
    if (width == 0)
        must(bcp_collen(connection, bytes, ordinal) == SUCCEED, "bcp_collen", SQL_HANDLE_DBC, connection);
}

/* send TABLE CELLS [rows_per_batch=N] [stop_after=N] [options of bcp_control]
 *
 * Prints `sent N` at the end and `batch N` for every bcp_batch. `stop_after` leaves without bcp_done, as a program that dies. */
int send_rows(HDBC connection, int count, char **arguments) {
    const char *per_batch = option(count, arguments, "rows_per_batch");
    const char *stop = option(count, arguments, "stop_after");
    long rows_per_batch = per_batch ? strtol(per_batch, NULL, 10) : 0, stop_after = stop ? strtol(stop, NULL, 10) : -1;
    struct cells cells;
    must(count >= 2, "send TABLE CELLS", 0, NULL);
    read_all(&cells, arguments[1]);
    must(bcp_initA(connection, arguments[0], NULL, NULL, DB_IN) == SUCCEED, "bcp_init", SQL_HANDLE_DBC, connection);
    control(connection, count, arguments);
    int columns = number(&cells);
    struct {
        int ordinal, width;
    } *bound = calloc((size_t)columns, sizeof *bound);
    static unsigned char nothing[4] = {0xFF, 0xFF, 0xFF, 0xFF};
    for (int i = 0; i < columns; i++) {
        bound[i].ordinal = number(&cells);
        int type = number(&cells);
        bound[i].width = number(&cells);
        must(bcp_bind(connection, nothing, bound[i].width, bound[i].width ? SQL_VARLEN_DATA : 0, NULL, 0, type,
                      bound[i].ordinal) == SUCCEED,
             "bcp_bind", SQL_HANDLE_DBC, connection);
    }
    long rows = number(&cells);
    for (long row = 0; row < rows; row++) {
        if (row == stop_after) {
            printf("stopped %ld\n", row);
            fflush(stdout);
            _Exit(0);
        }
        for (int i = 0; i < columns; i++)
            point(connection, &cells, bound[i].ordinal, bound[i].width);
        must(bcp_sendrow(connection) == SUCCEED, "bcp_sendrow", SQL_HANDLE_DBC, connection);
        if (rows_per_batch > 0 && (row + 1) % rows_per_batch == 0) {
            DBINT batch = bcp_batch(connection);
            must(batch >= 0, "bcp_batch", SQL_HANDLE_DBC, connection);
            printf("batch %d\n", (int)batch);
        }
    }
    DBINT sent = bcp_done(connection);
    must(sent >= 0, "bcp_done", SQL_HANDLE_DBC, connection);
    printf("sent %d\n", (int)sent);
    free(bound);
    free(cells.data);
    return 0;
}
