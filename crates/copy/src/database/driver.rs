//! Finds a driver's library: by path, by manifest, in the folders of Python, beside the program.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use adbc_core::{LOAD_FLAG_DEFAULT, error::Error, options::AdbcVersion};
use adbc_driver_manager::ManagedDriver;

use super::address::Address;
use crate::error::CopyError;

/// The folder or path that says where the library behind `odbc:` is.
const ODBC_LIBRARY: &str = "BULKWIRE_ODBC_LIBRARY";

/// Folders of Python environments. The first is what the Python package says of the interpreter that it runs in, activated or not.
const ENVIRONMENTS: [&str; 3] = ["BULKWIRE_PYTHON_PREFIX", "VIRTUAL_ENV", "CONDA_PREFIX"];

/// Loads the driver of an address.
pub(super) fn load(address: &Address) -> Result<ManagedDriver, CopyError> {
    let failed = |text: String| CopyError::endpoint(address.to_string(), address.without_secrets(&text));
    let entrypoint = entrypoint(address);
    if address.driver == "odbc" {
        return odbc().map_err(failed);
    }
    if is_path(&address.driver) {
        let path = Path::new(&address.driver);
        return by_path(path, entrypoint)
            .map_err(|error| failed(format!("driver {}: {error}", path.display())));
    }
    let mut found_broken = None;
    for name in [address.driver.clone(), format!("adbc_driver_{}", address.driver)] {
        match by_name(&name, entrypoint) {
            Ok(driver) => return Ok(driver),
            // A manifest that is there but leads nowhere is worth naming.
            Err(error) => found_broken = found_broken.or_else(|| broken(&error, &name)),
        }
    }
    for path in python_folders().iter().flat_map(|folder| in_python(folder, &address.driver)) {
        match by_path(&path, entrypoint) {
            Ok(driver) => return Ok(driver),
            // DuckDB's library in its wheel is one of Python's: other programs need another.
            Err(error) if error.message.contains("undefined symbol: Py") => {}
            Err(error) => return Err(failed(format!("driver {}: {error}", path.display()))),
        }
    }
    Err(match found_broken {
        Some(error) => failed(format!("driver {}: {error}", address.driver)),
        None => CopyError::endpoint(address.to_string(), missing(&address.driver)),
    })
}

fn entrypoint(address: &Address) -> Option<&[u8]> {
    match &address.entrypoint {
        Some(name) => Some(name.as_bytes()),
        None if address.driver == "duckdb" => Some(b"duckdb_adbc_init"),
        None => None,
    }
}

fn is_path(driver: &str) -> bool {
    let suffix = Path::new(driver).extension().and_then(|suffix| suffix.to_str());
    driver.contains(['/', '\\']) || matches!(suffix, Some("so" | "dylib" | "dll" | "toml"))
}

fn by_path(path: &Path, entrypoint: Option<&[u8]>) -> Result<ManagedDriver, Error> {
    // The library's dependencies are looked up by the loader: its path must not be taken for a name.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let load = |version| {
        ManagedDriver::load_from_name(path.as_os_str(), entrypoint, version, LOAD_FLAG_DEFAULT, None)
    };
    load(AdbcVersion::V110).or_else(|error| load(AdbcVersion::V100).map_err(|_| error))
}

fn by_name(name: &str, entrypoint: Option<&[u8]>) -> Result<ManagedDriver, Error> {
    let environments = ENVIRONMENTS.into_iter().filter_map(env::var_os);
    let folders = environments.map(|folder| PathBuf::from(folder).join("etc").join("adbc").join("drivers"));
    let folders: Vec<PathBuf> = folders.collect();
    let load = |version| {
        ManagedDriver::load_from_name(name, entrypoint, version, LOAD_FLAG_DEFAULT, Some(folders.clone()))
    };
    load(AdbcVersion::V110).or_else(|error| load(AdbcVersion::V100).map_err(|_| error))
}

/// Says why a driver that was found cannot be used; `None` if there is none of this name.
fn broken(error: &Error, name: &str) -> Option<String> {
    if !error.message.starts_with("Driver not found")
        && !error.message.contains("cannot open shared object file")
    {
        return Some(error.message.clone());
    }
    // The details list the places that were searched in vain, and the library that a manifest names.
    let file = format!("{}{name}{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
    let details = error.details.iter().flatten().map(|(_, text)| String::from_utf8_lossy(text).into_owned());
    let lines: Vec<String> =
        details.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()).collect();
    lines.into_iter().find(|line| !line.contains(&file) && !line.contains("Driver not found"))
}

/// Loads the library behind `odbc:`.
fn odbc() -> Result<ManagedDriver, String> {
    let file = format!("{}adbc_driver_bulkwire_odbc{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
    let path = match env::var_os(ODBC_LIBRARY) {
        Some(path) => PathBuf::from(path),
        None => {
            let folder = env::current_exe().ok().and_then(|program| Some(program.parent()?.to_path_buf()));
            folder.unwrap_or_default().join(&file)
        }
    };
    let path = if path.is_dir() { path.join(&file) } else { path };
    if !path.exists() {
        return Err(format!(
            "odbc: needs the library {file} of bulkwire, and {} is not there: put it beside the program, \
             or name it in {ODBC_LIBRARY}",
            path.display()
        ));
    }
    by_path(&path, None).map_err(|error| match error.message.contains("libodbc") {
        true => format!(
            "unixODBC, the driver manager of ODBC, is not installed: apt install libodbc2 (Debian, Ubuntu), \
             dnf install unixODBC (Fedora, RHEL), brew install unixodbc (macOS) ({})",
            error.message
        ),
        false => format!("{}: {}", path.display(), error.message),
    })
}

/// Lists the `site-packages` of the active environments, and of the Python that the shell would start.
fn python_folders() -> Vec<PathBuf> {
    let mut prefixes: Vec<PathBuf> =
        ENVIRONMENTS.into_iter().filter_map(env::var_os).map(PathBuf::from).collect();
    let program = env::current_exe().ok();
    let on_path = env::var_os("PATH").and_then(|path| {
        let mut pythons = env::split_paths(&path).map(|folder| folder.join("python3"));
        pythons.find(|python| python.is_file())
    });
    // A link to a Python elsewhere is that Python, unless it is one of a virtual environment.
    let resolved = on_path.as_ref().and_then(|python| fs::canonicalize(python).ok());
    let programs = [program, on_path, resolved].into_iter().flatten();
    prefixes.extend(programs.filter_map(|program| Some(program.parent()?.parent()?.to_path_buf())));
    prefixes.push(PathBuf::from("/usr/local"));
    if let Some(home) = env::var_os("HOME") {
        prefixes.push(PathBuf::from(home).join(".local"));
    }
    let mut folders: Vec<PathBuf> = prefixes.iter().flat_map(|prefix| packages_under(prefix)).collect();
    let mut seen = Vec::new();
    folders.retain(|folder| {
        let is_new = !seen.contains(folder);
        seen.push(folder.clone());
        is_new
    });
    folders
}

fn packages_under(prefix: &Path) -> Vec<PathBuf> {
    let mut folders = vec![prefix.join("Lib").join("site-packages")];
    for entry in fs::read_dir(prefix.join("lib")).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with("python3") {
            folders.extend(["site-packages", "dist-packages"].map(|packages| entry.path().join(packages)));
        }
    }
    folders.retain(|folder| folder.is_dir());
    folders
}

/// Lists the libraries of a driver in a folder of packages.
fn in_python(packages: &Path, driver: &str) -> Vec<PathBuf> {
    let matching = |folder: PathBuf, starts: String| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(move |path| {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            name.starts_with(&starts)
                && [".so", ".dylib", ".dll", ".pyd"].iter().any(|suffix| name.ends_with(suffix))
        })
    };
    if driver == "duckdb" {
        let own = matching(packages.to_path_buf(), "_duckdb.".to_owned());
        return own.chain(matching(packages.join("duckdb"), "duckdb.".to_owned())).collect();
    }
    let package = format!("adbc_driver_{driver}");
    let file = format!("{}{package}", env::consts::DLL_PREFIX);
    // On Windows, the wheels keep the name of other systems.
    let other = format!("lib{package}");
    let mut found: Vec<PathBuf> = matching(packages.join(&package), file).collect();
    found.extend(matching(packages.join(&package), other));
    found
}

/// Says how to install a driver that is not found.
fn missing(driver: &str) -> String {
    let wheel = match driver {
        "postgresql" | "sqlite" | "snowflake" | "bigquery" | "flightsql" => {
            format!(", or: pip install adbc-driver-{driver}")
        }
        // The wheel's library works inside Python alone.
        "duckdb" => {
            ", or put libduckdb (https://duckdb.org/install) into a folder of ADBC_DRIVER_PATH".to_owned()
        }
        _ => String::new(),
    };
    format!(
        "the ADBC driver {driver} is not installed: dbc install {driver}{wheel}. \
         A library that is elsewhere is named by its path: adbc:/path/to/library?..."
    )
}
