//! An ADBC driver that speaks to databases through the ODBC drivers of the machine.
