/* The bulk copy functions of Microsoft's ODBC driver, declared after their documentation ("Bulk copy functions" and
 * "SQLSetConnectAttr" in the ODBC driver's reference). The driver's own header is not part of the wheel that ships it. */
#ifndef BULK_COPY_H
#define BULK_COPY_H

#include <stdint.h>

#include <sql.h>
#include <sqlext.h>

typedef int32_t DBINT;
typedef int BCP_RESULT;

#define SUCCEED 1
#define FAIL 0

/* A connection attribute, set before connecting. */
#define SQL_COPT_SS_BCP 1219
#define SQL_BCP_ON 1L

/* Directions of bcp_init. */
#define DB_IN 1
#define DB_OUT 2

/* Options of bcp_control. */
#define BCPMAXERRS 1
#define BCPFIRST 2
#define BCPLAST 3
#define BCPBATCH 4
#define BCPKEEPNULLS 5
#define BCPKEEPIDENTITY 8
#define BCPHINTSA 10
#define BCPFILECP 12

/* Lengths of bcp_bind. */
#define SQL_VARLEN_DATA (-10)

/* Types of program variables and of fields in a file. */
#define SQLCHARACTER 0x2F
#define SQLNCHAR 0xEF

/* Diagnostic fields of the driver. */
#define SQL_DIAG_SS_MSGSTATE (-1150)
#define SQL_DIAG_SS_SEVERITY (-1151)
#define SQL_DIAG_SS_PROCNAME (-1153)
#define SQL_DIAG_SS_LINE (-1154)

BCP_RESULT bcp_initA(HDBC connection, const char *table, const char *data_file, const char *error_file, int direction);
BCP_RESULT bcp_bind(HDBC connection, const unsigned char *data, int indicator_bytes, DBINT data_bytes,
                     const unsigned char *terminator, int terminator_bytes, int type, int server_column);
BCP_RESULT bcp_colptr(HDBC connection, const unsigned char *data, int server_column);
BCP_RESULT bcp_collen(HDBC connection, DBINT data_bytes, int server_column);
BCP_RESULT bcp_sendrow(HDBC connection);
BCP_RESULT bcp_moretext(HDBC connection, DBINT bytes, const unsigned char *data);
DBINT bcp_batch(HDBC connection);
DBINT bcp_done(HDBC connection);
BCP_RESULT bcp_control(HDBC connection, int option, void *value);
BCP_RESULT bcp_columns(HDBC connection, int columns);
BCP_RESULT bcp_colfmt(HDBC connection, int file_column, unsigned char type, int indicator_bytes, DBINT data_bytes,
                       const unsigned char *terminator, int terminator_bytes, int server_column);
BCP_RESULT bcp_exec(HDBC connection, DBINT *rows);
BCP_RESULT bcp_readfmtA(HDBC connection, const char *format_file);
BCP_RESULT bcp_writefmtA(HDBC connection, const char *format_file);

#endif
