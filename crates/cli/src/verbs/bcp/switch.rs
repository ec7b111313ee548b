//! Every option of the command line, defined once; the parser and the usage text come from here.

use std::fmt::Write;

/// The kind of value that an option has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// No.
    Nothing,
    /// Yes, attached or separate.
    Value,
    /// Attached, if at all.
    Maybe,
}

/// An option of one letter.
#[derive(Debug)]
pub struct Switch {
    /// The letter; case counts.
    pub letter: char,
    /// The kind of value that the option has.
    pub takes: Takes,
    /// The value is a number, which may be negative.
    pub numeric: bool,
    /// The text about the option in the usage; empty if the usage leaves it out.
    usage: &'static str,
}

/// An option of our own.
#[derive(Debug)]
pub struct LongSwitch {
    /// The name of the option, without dashes.
    pub name: &'static str,
    /// True if the option has a value.
    pub takes_value: bool,
    usage: &'static str,
}

const fn flag(letter: char, usage: &'static str) -> Switch {
    Switch { letter, takes: Takes::Nothing, numeric: false, usage }
}

const fn text(letter: char, usage: &'static str) -> Switch {
    Switch { letter, takes: Takes::Value, numeric: false, usage }
}

const fn number(letter: char, usage: &'static str) -> Switch {
    Switch { letter, takes: Takes::Value, numeric: true, usage }
}

/// The options, in the order in which the usage text shows them.
pub const SWITCHES: &[Switch] = &[
    number('m', "maxerrors"),
    text('f', "formatfile"),
    text('e', "errfile"),
    number('F', "firstrow"),
    number('L', "lastrow"),
    number('b', "batchsize"),
    flag('n', "native type"),
    flag('c', "character type"),
    flag('w', "wide character type"),
    flag('N', "keep non-text native"),
    number('V', "file format version"),
    flag('q', "quoted identifier"),
    text('C', "code page specifier"),
    text('t', "field terminator"),
    text('r', "row terminator"),
    text('i', "inputfile"),
    text('o', "outfile"),
    number('a', "packetsize"),
    text('S', "server name"),
    text('U', "username"),
    text('P', "password or tokenfile"),
    flag('T', "trusted connection"),
    flag('v', "version"),
    flag('R', "regional enable"),
    flag('k', "keep null values"),
    flag('E', "keep identity values"),
    flag('G', "access token in a file"),
    text('h', "\"load hints\""),
    flag('x', "generate xml format file"),
    text('d', "database name"),
    text('K', "application intent"),
    number('l', "login timeout"),
    text('Y', "encryption: s, m or o"),
    flag('u', "trust server certificate"),
    text('H', "host in certificate"),
    text('J', "certificate file"),
    flag('D', "server is a dsn"),
    Switch { letter: 'z', takes: Takes::Maybe, numeric: false, usage: "vector level" },
    flag('X', ""),
    flag('6', ""),
];

/// Options of our own.
pub const LONG_SWITCHES: &[LongSwitch] = &[
    LongSwitch {
        name: "strict",
        takes_value: false,
        usage: "refuse what the original loads wrongly in silence",
    },
    LongSwitch { name: "rejects", takes_value: true, usage: "FILE  write refused rows as JSON, one a line" },
    LongSwitch { name: "max-errors", takes_value: true, usage: "N  the same as -m" },
    LongSwitch {
        name: "bisect",
        takes_value: false,
        usage: "when the server refuses a batch, load its good rows and name the others",
    },
    LongSwitch {
        name: "command-timeout",
        takes_value: true,
        usage: "SECONDS  how long the server may be silent, 0 without limit (default: 600)",
    },
    LongSwitch {
        name: "password-file",
        takes_value: true,
        usage: "FILE  a file whose only line is the password",
    },
    LongSwitch {
        name: "password-command",
        takes_value: true,
        usage: "COMMAND  a command whose first line of output is the password",
    },
    LongSwitch {
        name: "password-keyring",
        takes_value: true,
        usage: "SERVICE  the service under which the system's keyring has the password",
    },
    LongSwitch {
        name: "authentication",
        takes_value: true,
        usage: "METHOD  ActiveDirectoryServicePrincipal, ActiveDirectoryDefault and the like",
    },
    LongSwitch {
        name: "authority",
        takes_value: true,
        usage: "URL  the one place that gives access tokens, if it is none of Microsoft's",
    },
    LongSwitch {
        name: "no-encryption",
        takes_value: false,
        usage: "send everything in the clear, the password too",
    },
];

/// Width of an option in the usage text; three stand on a line.
const COLUMN_WIDTH: usize = 26;

/// Writes the usage text.
pub fn usage(program: &str) -> String {
    let mut text =
        format!("usage: {program} {{dbtable | query}} {{in | out | queryout | format}} datafile\n");
    let shown: Vec<&Switch> = SWITCHES.iter().filter(|switch| !switch.usage.is_empty()).collect();
    for line in shown.chunks(3) {
        let cells = line.iter().map(|switch| format!("[-{} {}]", switch.letter, switch.usage));
        let line = cells.fold(String::from(" "), |line, cell| format!("{line} {cell:COLUMN_WIDTH$}"));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", line.trim_end());
    }
    for switch in LONG_SWITCHES {
        let _ = writeln!(text, "  [--{} {}]", switch.name, switch.usage);
    }
    text
}
