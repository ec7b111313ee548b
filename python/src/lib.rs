//! `bulkwire._bulkwire`: the Rust side of the Python package.
//!
//! What is here moves data and holds connections; what a Python programmer reads (signatures, documentation, composition) is in
//! the package `bulkwire` beside it. Every call that waits for the network lets other Python threads run, and ends at Ctrl-C.

// Linked for its exported functions alone: the extension module is an ADBC driver too.
use adbc_driver_bulkwire as _;
use pyo3::prelude::*;

mod command;
mod connection;
mod copying;
mod execution;
mod failure;
mod forecast;
mod frame;
mod interrupt;
mod load_report;
mod package_run;
mod parameters;
mod pickled;
mod python_value;
mod reader;
mod row_function;
mod row_source;
mod server;
mod source;
mod source_order;
mod tasks;

#[pymodule]
mod _bulkwire {
    #[pymodule_export]
    use super::command::run_command;
    #[pymodule_export]
    use super::connection::Connection;
    #[pymodule_export]
    use super::copying::{_copy_report, CopyReport, run_copy};
    #[pymodule_export]
    use super::execution::Execution;
    #[pymodule_export]
    use super::load_report::{_load_report, LoadReport};
    #[pymodule_export]
    use super::package_run::run_package_words;
    #[pymodule_export]
    use super::reader::Reader;
    #[pymodule_export]
    use super::server::Server;
    #[pymodule_export]
    use super::tasks::{partitions, prepare_tasks, publish_tasks, read_partition};

    #[pymodule_init]
    fn init(module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        use pyo3::types::{PyAnyMethods, PyModuleMethods};
        objects::register();
        // The folder in which a Python environment keeps programs; the interpreter itself may lie elsewhere.
        let folders = module.py().import("sysconfig")?;
        if let Ok(folder) = folders.call_method1("get_path", ("scripts",))?.extract() {
            sign_in::look_in(folder);
        }
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
