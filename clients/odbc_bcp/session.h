/* One connection, and how what goes wrong on it is shown. */
#ifndef SESSION_H
#define SESSION_H

#include "bulk_copy.h"

/* Connects with bulk copy enabled, by the connection string in the variable ODBC_CONNECTION; ends the program if it cannot. */
HDBC session_open(void);

/* Prints every diagnostic record of a handle, one a line:
 * `error STATE NUMBER state=S class=C line=L MESSAGE`. */
void show_diagnostics(SQLSMALLINT kind, SQLHANDLE handle);

/* A statement on the connection; ends the program if there is none. */
HSTMT session_statement(HDBC connection);

/* Ends the program with the handle's diagnostics unless `condition` holds. */
void must(int condition, const char *what, SQLSMALLINT kind, SQLHANDLE handle);

/* The value of `name=` among the arguments; NULL if it is absent. */
const char *option(int count, char **arguments, const char *name);

/* Sets what the arguments ask of bcp_control: hint=, batch=, first=, last=, max_errors=, keep_nulls=, keep_identity=, code_page=. */
void control(HDBC connection, int count, char **arguments);

/* The program's commands; they print what they find and return its exit status. */
int send_rows(HDBC connection, int count, char **arguments);
int copy_file(HDBC connection, int count, char **arguments);
int diagnose(HDBC connection, int count, char **arguments);
int call_with_output(HDBC connection, int count, char **arguments);
int describe_parameters(HDBC connection, int count, char **arguments);
int stream_large_values(HDBC connection, int count, char **arguments);
int arrays(HDBC connection, int count, char **arguments);

#endif
