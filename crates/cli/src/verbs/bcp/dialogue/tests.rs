#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::Cursor;
use std::sync::{Arc, Mutex};

use tds::{Collation, Length, SqlType};

use super::*;

#[derive(Clone, Default)]
struct Screen(Arc<Mutex<Vec<u8>>>);

impl Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn columns() -> Vec<Column> {
    let latin = Some(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS);
    vec![
        Column::new("Price", SqlType::Money, true, None),
        Column::new("Name", SqlType::VarChar { length: Length::Units(20) }, false, latin),
    ]
}

/// The screen after the dialogue, with the typed answers where they were typed, and the layout.
fn talk(answers: &str) -> (String, Result<FormatFile, DialogueError>) {
    let screen = Screen::default();
    let mut dialogue = Dialogue {
        answers: Box::new(Cursor::new(answers.to_owned())),
        questions: Box::new(screen.clone()),
        code_page: FileCodePage::default(),
    };
    let layout = dialogue.layout(&columns());
    let text = String::from_utf8(screen.0.lock().unwrap().clone()).unwrap();
    (text, layout)
}

#[test]
fn defaults_are_the_native_layout() {
    let (screen, layout) = talk("\n\n\n\n\n\n");
    assert_eq!(
        screen,
        "Enter the file storage type of field Price [money]: Enter prefix-length of field Price [1]: \
         Enter field terminator [none]: \n\
         Enter the file storage type of field Name [char]: Enter prefix-length of field Name [2]: \
         Enter field terminator [none]: \n"
    );
    assert_eq!(
        layout.unwrap(),
        FormatFile::for_columns(&columns(), DataMode::Native, &LayoutOptions::default())
    );
}

#[test]
fn the_length_is_asked_of_text_without_prefix() {
    let (screen, layout) = talk("c\n0\n\n;\nchar\n0\n25\n\\n\n");
    assert!(screen.contains("Enter length of field Price [30]: "), "{screen}");
    assert!(screen.contains("Enter length of field Name [20]: "), "{screen}");
    let fields = layout.unwrap().fields;
    let summary: Vec<_> =
        fields.iter().map(|f| (f.host_type, f.prefix_length, f.length, f.terminator.clone())).collect();
    assert_eq!(summary, [(HostType::Char, 0, 30, b";".to_vec()), (HostType::Char, 0, 25, row_end())]);
}

fn row_end() -> Vec<u8> {
    if cfg!(windows) { b"\r\n".to_vec() } else { b"\n".to_vec() }
}

#[test]
fn answers_that_make_no_sense_are_asked_for_again() {
    let (screen, layout) = talk("money5\nm\n3\nx\n1\n\n\n\n\n");
    assert_eq!(screen.matches("Enter the file storage type of field Price").count(), 2);
    assert_eq!(screen.matches("Enter prefix-length of field Price").count(), 3);
    assert!(
        screen.contains("Valid file storage types:")
            && screen.contains("The prefix-length is 0, 1, 2, 4 or 8.")
    );
    assert_eq!(layout.unwrap().fields[0].host_type, HostType::Money);
}

#[test]
fn answers_may_be_too_few() {
    let (_, layout) = talk("\n\n");
    assert_eq!(
        layout.unwrap_err().to_string(),
        "The answers end at the question \"Enter field terminator [none]\"."
    );
}
