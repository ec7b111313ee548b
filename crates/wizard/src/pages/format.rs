//! The page of the text format: choices, and the first rows under them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use copy::CopyError;
use formats::Compression;

use super::answer::{App, obstacle, page, refuse, to, waiting};
use super::look::LookView;
use super::shell::Shell;
use crate::draft::{FixedWidth, Layout, Quote, Spelling, Step, TextChoices};
use crate::form::Form;
use crate::text::{self, ChoiceError, Content, Guess, Look, Ruler, TextFile};
use crate::wizard::{Errors, Wizard};

#[derive(Template)]
#[template(path = "format.html")]
struct FormatPage {
    shell: Shell,
    name: String,
    seen: String,
    doubts: Vec<String>,
    is_fixed: bool,
    encoding: String,
    delimiter: String,
    quote: String,
    row_terminator: String,
    null_text: String,
    skip_lines: usize,
    skip_footer: usize,
    escape: String,
    skips_blanks: bool,
    spelling: Spelling,
    has_header: bool,
    trim_blanks: bool,
    breaks: String,
    format_file: String,
    look: String,
}

pub(super) fn routes() -> Router<Arc<Wizard>> {
    Router::new().route("/format", get(shown).post(sent)).route("/format/look", post(looked))
}

async fn shown(State(wizard): App) -> Response {
    if let Some(before) = obstacle(&wizard, Step::Format) {
        return before;
    }
    let draft = wizard.draft();
    if !draft.has_text() {
        return to(draft.after(Step::Format));
    }
    let path = draft.source.file.path.trim().to_owned();
    let read = waiting(move || read_head(&path)).await;
    let (file, files) = match read {
        Ok(found) => found,
        Err(error) => return refuse(&wizard, Step::Source, Errors::of("path", error.to_string())),
    };
    let mut state = wizard.state();
    let path = state.draft.source.file.path.trim().to_owned();
    let is_new = state.source_text.path != path;
    state.source_text.file = Some(Arc::clone(&file));
    state.source_text.files = files;
    if is_new {
        state.source_text.path = path;
        state.source_text.doubts.clear();
        state.source_text.content = file.content().ok();
        state.source_text.inference = None;
        state.errors.remove(&Step::Format);
        state.draft.text = TextChoices::default();
        if let Ok(Some(guess)) = Guess::of(&file, None) {
            state.source_text.doubts = guess.doubts;
            state.draft.text = guess.choices;
        }
    }
    let choices = state.draft.text.clone();
    let fixed = fixed_of(&choices);
    let known = delimiter_of(&file.name);
    let text = &state.source_text;
    let template = FormatPage {
        seen: seen(&file, files, text.content),
        doubts: text.doubts.clone(),
        name: name_of(&file.name),
        is_fixed: matches!(choices.layout, Layout::FixedWidth(_)),
        encoding: choices.encoding.clone().unwrap_or_else(|| "utf-8".to_owned()),
        delimiter: choices.delimiter.clone().unwrap_or_else(|| known.to_owned()),
        quote: match choices.quote {
            Quote::Default => "\"".to_owned(),
            Quote::Char(quote) => quote.to_string(),
            Quote::None => String::new(),
        },
        row_terminator: choices.row_terminator.clone().unwrap_or_default(),
        null_text: choices.null_text.clone().unwrap_or_default(),
        skip_lines: choices.skip_lines,
        skip_footer: choices.skip_footer,
        escape: choices.escape.map(String::from).unwrap_or_default(),
        skips_blanks: choices.skips_blanks,
        spelling: choices.spelling.clone(),
        has_header: choices.has_header,
        trim_blanks: fixed.is_none_or(|fixed| fixed.trim_blanks),
        breaks: fixed.map(|fixed| listed(&fixed.breaks)).unwrap_or_default(),
        format_file: match fixed.map(|fixed| fixed.format_file.as_path()) {
            Some(path) if !path.as_os_str().is_empty() => path.display().to_string(),
            _ => free_name(Path::new(&file.name), &text.written).display().to_string(),
        },
        look: rendered(&LookView::of(&file, &choices)),
        shell: Shell::of(&mut state, Step::Format),
    };
    page(&template)
}

async fn sent(State(wizard): App, body: Bytes) -> Response {
    let form = Form::parse(&body);
    let Some(file) = wizard.state().source_text.file.clone() else { return to(Step::Format) };
    let read = read(&form, &file);
    let mut choices = match read {
        Ok(choices) => choices,
        Err(error) => return refuse(&wizard, Step::Format, errors_of(&error)),
    };
    let verb = form.find("do").unwrap_or("next");
    {
        let mut state = wizard.state();
        state.errors.remove(&Step::Format);
        if verb == "guess" {
            // An encoding that was changed is one to guess under.
            let is_changed = choices.encoding != state.draft.text.encoding;
            let asked = choices.encoding.as_deref().unwrap_or("utf-8").parse().ok().filter(|_| is_changed);
            if let Ok(Some(guess)) = Guess::of(&file, asked) {
                state.source_text.doubts = guess.doubts;
                choices = guess.choices;
            }
        }
        let guessed = Ruler::of(&file, &choices).map(|ruler| ruler.guessed());
        if let (Layout::FixedWidth(fixed), Ok(guessed)) = (&mut choices.layout, guessed)
            && fixed.breaks.is_empty()
        {
            fixed.breaks = guessed;
        }
        state.draft.text = choices.clone();
    }
    if matches!(verb, "look" | "guess") {
        return to(Step::Format);
    }
    if let Err(error) = settle(&wizard, &file, choices).await {
        return refuse(&wizard, Step::Format, errors_of(&error));
    }
    if verb == "types" {
        return match super::types::begin(&wizard).await {
            Ok(()) => Redirect::to("/format/types").into_response(),
            Err(error) => refuse(&wizard, Step::Format, Errors::of_page(error.to_string())),
        };
    }
    let next = wizard.draft().after(Step::Format);
    to(next)
}

/// Shows the rows under choices that are not kept yet.
async fn looked(State(wizard): App, body: Bytes) -> Response {
    let form = Form::parse(&body);
    let Some(file) = wizard.state().source_text.file.clone() else { return to(Step::Format) };
    let shown = tokio::task::spawn_blocking(move || {
        let view = read(&form, &file).and_then(|choices| LookView::of(&file, &choices));
        rendered(&view)
    });
    match shown.await {
        Ok(text) => axum::response::Html(text).into_response(),
        Err(_) => (axum::http::StatusCode::INTERNAL_SERVER_ERROR, "The look failed.").into_response(),
    }
}

/// Reads the head of the first file of a path, and counts the files.
fn read_head(path: &str) -> Result<(Arc<TextFile>, usize), CopyError> {
    let files = copy::files_of(path)?;
    let Some(first) = files.first() else {
        return Err(CopyError::Usage(format!("{path} means no file")));
    };
    let compression = match first.path() {
        Some(path) => Compression::from_path(path).0,
        None => {
            return Err(CopyError::Usage(
                "A pipe cannot be looked at before it is read: name a file.".to_owned(),
            ));
        }
    };
    Ok((Arc::new(TextFile::read(first, compression)?), files.len()))
}

/// Reads the choices of the format from the form.
fn read(form: &Form, file: &TextFile) -> Result<TextChoices, ChoiceError> {
    let filled = |name: &str| Some(form.text(name)).filter(|text| !text.is_empty());
    let encoding = text::spelled_encoding(&form.trimmed("encoding"))?;
    let is_fixed = form.find("layout") == Some("fixed");
    let quote = form.text("quote");
    let mut choices = TextChoices {
        encoding: encoding.filter(|name| name != "utf-8"),
        delimiter: filled("delimiter").filter(|delimiter| delimiter != delimiter_of(&file.name)),
        quote: match quote.chars().next() {
            None => Quote::None,
            Some('"') => Quote::Default,
            Some(quote) => Quote::Char(quote),
        },
        has_header: form.is_ticked("has_header"),
        row_terminator: filled("row_terminator"),
        skip_lines: number("skip_lines", &form.trimmed("skip_lines"))?,
        skip_footer: number("skip_footer", &form.trimmed("skip_footer"))?,
        escape: form.trimmed("escape").chars().next(),
        skips_blanks: form.is_ticked("skips_blanks"),
        null_text: filled("null_text"),
        spelling: Spelling {
            date_order: form.trimmed("date_order"),
            decimal: form.trimmed("decimal"),
            thousands: form.trimmed("thousands"),
            currency: form.trimmed("currency"),
            percent: form.trimmed("percent"),
        },
        columns: form.all("column").map(|name| name.trim().to_owned()).collect(),
        layout: Layout::Delimited,
    };
    if is_fixed {
        let breaks = form.trimmed("breaks");
        let places = breaks.split(|c: char| !c.is_ascii_digit()).filter(|place| !place.is_empty());
        let mut places = places.map(|place| number("breaks", place)).collect::<Result<Vec<_>, _>>()?;
        places.sort_unstable();
        places.dedup();
        choices.layout = Layout::FixedWidth(FixedWidth {
            breaks: places,
            format_file: form.trimmed("format_file").into(),
            trim_blanks: form.is_ticked("trim_blanks"),
            ..FixedWidth::default()
        });
    }
    Ok(choices)
}

fn number(field: &'static str, text: &str) -> Result<usize, ChoiceError> {
    match text {
        "" => Ok(0),
        text => text
            .parse()
            .ok()
            .filter(|number| *number <= 1_000_000)
            .ok_or_else(|| ChoiceError { field, message: format!("{text} is no number of this kind.") }),
    }
}

/// Checks choices against the file, completes them, and writes the format file.
async fn settle(wizard: &Wizard, file: &Arc<TextFile>, mut choices: TextChoices) -> Result<(), ChoiceError> {
    let Layout::FixedWidth(mut fixed) = choices.layout.clone() else {
        let typed = std::mem::take(&mut choices.columns);
        let look = Look::of(file, &choices)?;
        choices.columns = super::look::completed(&typed, &look.columns);
        let look = Look::of(file, &choices)?;
        if let Some(problem) = look.problem.filter(|_| look.rows.is_empty()) {
            return Err(ChoiceError { field: "", message: problem });
        }
        wizard.state().draft.text = choices;
        return Ok(());
    };
    let described = text::format_file(file, &choices)?;
    let ruler = Ruler::of(file, &choices)?;
    let names = text::names(&ruler, &choices, &fixed);
    // Types that were found stay with the columns that they were found for.
    if let Layout::FixedWidth(before) = &wizard.draft().text.layout
        && before.breaks == fixed.breaks
    {
        fixed.types.clone_from(&before.types);
    }
    fixed.names = names;
    let path = fixed.format_file.clone();
    if path.as_os_str().is_empty() {
        return Err(ChoiceError {
            field: "format_file",
            message: "Say where the format file is kept.".to_owned(),
        });
    }
    let is_ours = wizard.state().source_text.written.contains(&path);
    let to_write = path.clone();
    let written = waiting(move || {
        let content = described.to_text();
        let is_same = std::fs::read_to_string(&to_write).is_ok_and(|found| found == content);
        if to_write.exists() && !is_ours && !is_same {
            let text = "There is a file of this name already, and this wizard did not write it. Choose another name.";
            return Err(CopyError::Usage(text.to_owned()));
        }
        std::fs::write(&to_write, content)
            .map_err(|error| CopyError::Usage(format!("{}: {error}", to_write.display())))
    });
    written.await.map_err(|error| ChoiceError { field: "format_file", message: error.to_string() })?;
    choices.layout = Layout::FixedWidth(fixed);
    let mut state = wizard.state();
    state.source_text.written.push(path);
    state.draft.text = choices;
    Ok(())
}

fn errors_of(error: &ChoiceError) -> Errors {
    Errors::of(error.field, error.message.clone())
}

fn fixed_of(choices: &TextChoices) -> Option<&FixedWidth> {
    match &choices.layout {
        Layout::FixedWidth(fixed) => Some(fixed),
        Layout::Delimited => None,
    }
}

/// Returns the delimiter of the suffix.
fn delimiter_of(path: &str) -> &'static str {
    match formats::Format::from_path(Path::new(path)) {
        Ok((formats::Format::Csv(options), _)) if options.delimiter == "\t" => "\\t",
        _ => ",",
    }
}

/// Numbers with commas between them.
pub(super) fn listed(numbers: &[usize]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn name_of(path: &str) -> String {
    Path::new(path).file_name().map_or_else(|| path.to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Words the part of the file that was examined, and its content.
fn seen(file: &TextFile, files: usize, content: Option<Content>) -> String {
    let part = if file.is_complete() { "was read" } else { "is large: its first MiB was read" };
    let of_several = match files {
        0 | 1 => String::new(),
        files => format!(", the first of {files} files,"),
    };
    match content {
        Some(Content::Empty) => format!("{of_several} is empty."),
        Some(Content::Known(known)) => {
            format!("{of_several} is {known}, and no text. Give it the suffix of its format.")
        }
        Some(Content::Binary) => {
            format!(
                "{of_several} does not look like text. A native file of bcp needs its format file, and goes through the command line."
            )
        }
        _ => format!("{of_several} {part}. What is below is a guess: correct what is wrong."),
    }
}

/// Finds a free name beside the file.
fn free_name(file: &Path, ours: &[PathBuf]) -> PathBuf {
    let (_, plain) = Compression::from_path(file);
    let named = |number: usize| match number {
        1 => plain.with_extension("fmt"),
        number => plain.with_extension(format!("{number}.fmt")),
    };
    let is_free = |path: &PathBuf| ours.contains(path) || !path.exists();
    (1..100).map(named).find(is_free).unwrap_or_else(|| named(1))
}

/// Renders a fragment; a choice that makes no sense is explained in its place.
fn rendered(view: &Result<LookView, ChoiceError>) -> String {
    let text = match view {
        Ok(view) => view.render(),
        Err(error) => LookView::problem(error.message.clone()).render(),
    };
    text.unwrap_or_else(|error| error.to_string())
}
