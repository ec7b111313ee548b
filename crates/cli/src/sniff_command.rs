//! `bulkwire sniff`.

use std::io::{self, Write};

use formats::Location;
use formats::sniff::{Content, sniff};

use crate::args::{FileArgs, SniffArgs};
use crate::failure::Failure;
use crate::file_format;

/// Guesses the format of a file and prints it.
pub fn run(arguments: &SniffArgs) -> Result<(), Failure> {
    let location = Location::source(&arguments.file);
    let flags = FileArgs { compression: arguments.compression, ..FileArgs::default() };
    let sniffed = sniff(&location, file_format::compression(&location, &flags))?;
    let output = |text: &str| {
        io::stdout()
            .write_all(text.as_bytes())
            .and_then(|()| io::stdout().flush())
            .map_err(|source| Failure::Stream { stream: "output", source })
    };
    let text = match &sniffed.content {
        Content::Text(text) => Some(text),
        _ => None,
    };
    if arguments.declare {
        let Some(text) = text else {
            return Err(Failure::Usage(format!("{location} is not text: nothing to declare")));
        };
        output(&format!("{}\n", text.declaration()))?;
    } else {
        output(&format!("{}\n", sniffed.to_string().trim_end()))?;
    }
    let Some(path) = &arguments.write_format_file else { return Ok(()) };
    let layout = text.and_then(|text| Some((text.format_file()?, &text.columns)));
    let Some((layout, columns)) = layout else {
        return Err(Failure::Usage(format!("{location}: no format file of bcp describes such a file")));
    };
    let content = match arguments.xml {
        true => layout.to_xml(columns).map_err(|error| Failure::Usage(error.to_string()))?,
        false => layout.to_text(),
    };
    std::fs::write(path, content)
        .map_err(|source| Failure::FormatFile { file: path.display().to_string(), source })
}
