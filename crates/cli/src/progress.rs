//! Progress bars on standard error; nothing where that is not a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// The interval at which a bar without news is redrawn.
const REDRAW: Duration = Duration::from_millis(100);

/// Makes a bar that fills with the bytes of a file, or only counts where the size is unknown.
pub fn bar(label: &str, total_bytes: Option<u64>, quiet: bool) -> ProgressBar {
    if quiet {
        return ProgressBar::hidden();
    }
    let (bar, template) = match total_bytes {
        Some(total) => {
            (ProgressBar::new(total), "{prefix} [{bar:30}] {bytes}/{total_bytes} {msg} {elapsed} eta {eta}")
        }
        None => (ProgressBar::new_spinner(), "{prefix} {spinner} {msg} {elapsed}"),
    };
    // The templates are constants, so a style can only fail to parse while they are being edited.
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style.progress_chars("=> "));
    bar.set_prefix(label.to_owned());
    bar.enable_steady_tick(REDRAW);
    bar
}
