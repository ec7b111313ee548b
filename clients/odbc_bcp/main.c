/* Drives Microsoft's ODBC driver for the conformance tests: `odbc_bcp COMMAND ARGUMENTS`, connected by ODBC_CONNECTION. */

#include "session.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>

int main(int count, char **arguments) {
    /* The driver takes the code page of narrow strings from the locale. */
    setlocale(LC_ALL, "");
    static const struct {
        const char *name;
        int (*run)(HDBC, int, char **);
    } commands[] = {{"send", send_rows},           {"copy", copy_file},     {"diagnose", diagnose},
                    {"output", call_with_output}, {"describe", describe_parameters},
                    {"stream", stream_large_values}, {"arrays", arrays}};
    for (size_t i = 0; count > 1 && i < sizeof commands / sizeof *commands; i++)
        if (strcmp(arguments[1], commands[i].name) == 0) {
            HDBC connection = session_open();
            int status = commands[i].run(connection, count - 2, arguments + 2);
            SQLDisconnect(connection);
            return status;
        }
    fputs("odbc_bcp send|copy|diagnose|output|describe|stream|arrays ...\n", stderr);
    return 2;
}
