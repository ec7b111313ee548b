//! What stands beside a package: connection managers and parameters of its project, in files or in an archive (`.ispac`).

use std::io::{Cursor, Read};

use crate::dtsx::import_error::ImportError;
use crate::dtsx::xml::{Element, parse};
use crate::sql_script::script_text;

/// A file of an archive: its name and its bytes.
pub(crate) type NamedFile = (String, Vec<u8>);

/// Parts of an archive at most, and bytes of one.
const PARTS_MAX: usize = 10_000;
const PART_BYTES_MAX: u64 = 256 << 20;

/// The parts of a project that its packages share.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Project {
    /// Connection managers (`*.conmgr`).
    pub(super) managers: Vec<Element>,
    /// Parameters (`Project.params`).
    pub(super) parameters: Vec<Element>,
    /// The sign-in of connections that have the Windows account.
    pub(super) sign_in: Option<SignIn>,
}

/// A user, and the environment variable that has the password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignIn {
    /// The user.
    pub user: String,
    /// The variable.
    pub password_env: String,
}

impl Project {
    /// Adds a file of the project by its name; others than connection managers and parameters are passed over.
    ///
    /// # Errors
    /// It is no XML, or not of its kind.
    pub fn add(&mut self, name: &str, bytes: &[u8]) -> Result<(), ImportError> {
        let suffix = name.rsplit_once('.').map(|(_, suffix)| suffix.to_ascii_lowercase());
        let root = |expected: &str| {
            let text = script_text(bytes).ok_or(ImportError::Encoding)?;
            let root = parse(&text)?;
            match root.name == expected {
                true => Ok(root),
                false => Err(ImportError::Foreign(root.name)),
            }
        };
        match suffix.as_deref() {
            Some("conmgr") => self.managers.push(root("ConnectionManager")?),
            Some("params") => {
                let root = root("Parameters")?;
                self.parameters.extend(root.children.into_iter().filter(|child| child.name == "Parameter"));
            }
            _ => {}
        }
        Ok(())
    }

    /// Signs in by a user and a password in place of the Windows account.
    #[must_use]
    pub fn signing_in(self, user: String, password_env: String) -> Self {
        Self { sign_in: Some(SignIn { user, password_env }), ..self }
    }

    /// Reads an archive: the project, and its packages by their names.
    ///
    /// # Errors
    /// It is no archive, or larger than any.
    pub fn of_archive(bytes: &[u8]) -> Result<(Self, Vec<NamedFile>), ImportError> {
        let damaged = |error: &dyn std::fmt::Display| ImportError::Archive(error.to_string());
        let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).map_err(|error| damaged(&error))?;
        if archive.len() > PARTS_MAX {
            return Err(ImportError::TooLarge);
        }
        let (mut project, mut packages) = (Self::default(), Vec::new());
        for index in 0..archive.len() {
            let part = archive.by_index(index).map_err(|error| damaged(&error))?;
            let name = part.name().map_err(|error| damaged(&error))?;
            let name = decoded(last_part(&name));
            let mut content = Vec::new();
            part.take(PART_BYTES_MAX + 1).read_to_end(&mut content).map_err(|error| damaged(&error))?;
            if content.len() as u64 > PART_BYTES_MAX {
                return Err(ImportError::TooLarge);
            }
            match name.to_ascii_lowercase().ends_with(".dtsx") {
                true => packages.push((name, content)),
                false => project.add(&name, &content)?,
            }
        }
        Ok((project, packages))
    }
}

/// Lists the packages of a project file (`.dtproj`), of either deployment model.
///
/// # Errors
/// It is no project.
pub fn packages_of_project(bytes: &[u8]) -> Result<Vec<String>, ImportError> {
    let text = script_text(bytes).ok_or(ImportError::Encoding)?;
    let root = parse(&text)?;
    if root.name != "Project" {
        return Err(ImportError::Foreign(root.name));
    }
    let mut names = Vec::new();
    collect(&root, &mut names);
    Ok(names)
}

fn collect(element: &Element, names: &mut Vec<String>) {
    for child in &element.children {
        let name = match child.name.as_str() {
            "Package" => child.value("Name").to_owned(),
            "DtsPackage" => child.child("Name").map(|name| name.text.trim().to_owned()).unwrap_or_default(),
            _ => String::new(),
        };
        if name.to_ascii_lowercase().ends_with(".dtsx") && !names.contains(&name) {
            names.push(last_part(&name).to_owned());
        }
        collect(child, names);
    }
}

/// Returns the name behind folders: an archive decides no place.
fn last_part(name: &str) -> &str {
    name.rsplit(['/', '\\']).next().unwrap_or(name)
}

/// Decodes the percent signs of a part's name.
fn decoded(name: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = name.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let code = tail.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let code = code.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|_| *first == b'%');
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { tail.get(2..).unwrap_or_default() } else { tail };
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    last_part(&text).to_owned()
}
