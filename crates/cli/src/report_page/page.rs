//! A page that needs nothing else: no script, no request, light or dark as the reader has it.

use std::fmt::Write;

const STYLE: &str = ":root{color-scheme:light dark;--text:#1c1e21;--back:#fff;--faint:#6b7280;--rule:#d5d9e0;--panel:#f5f7fa}\
    @media(prefers-color-scheme:dark){:root{--text:#e6e8eb;--back:#14171a;--faint:#9aa3ad;--rule:#3a4048;--panel:#1e2328}}\
    body{font:15px/1.5 system-ui,sans-serif;color:var(--text);background:var(--back);max-width:56rem;margin:2rem auto;padding:0 1rem}\
    h1{font-size:1.5rem;overflow-wrap:anywhere}h2{font-size:1.1rem;margin:2rem 0 .5rem}\
    .tiles{display:flex;flex-wrap:wrap;gap:.75rem;margin:1rem 0}\
    .tiles div{background:var(--panel);border-radius:.5rem;padding:.6rem 1rem;flex:1 0 auto}\
    .tiles b{display:block;font-size:1.25rem}.tiles span{color:var(--faint);font-size:.85rem}\
    table{border-collapse:collapse;width:100%;margin:.5rem 0}th,td{padding:.3rem .6rem;border-bottom:1px solid var(--rule);text-align:left;vertical-align:top;overflow-wrap:anywhere;min-width:5.5rem}\
    td.n,th.n{text-align:right;white-space:nowrap}th{font-weight:600}figure{margin:0;overflow-x:auto}\
    svg{max-width:100%;height:auto}svg text{fill:var(--text);font:13px system-ui,sans-serif}\
    svg [stroke=\"#000000\"]{stroke:var(--faint)}p.note{color:var(--faint)}\
    pre{background:var(--panel);border-radius:.5rem;padding:.6rem 1rem;overflow-x:auto;font-size:.85rem}";

/// Sections of a page, one behind the other.
#[derive(Debug, Default)]
pub struct Body(String);

impl Body {
    pub fn heading(&mut self, text: &str) {
        // Writing to a string cannot fail; so below.
        let _ = writeln!(self.0, "<h1>{}</h1>", escaped(text));
    }

    pub fn section(&mut self, text: &str) {
        let _ = writeln!(self.0, "<h2>{}</h2>", escaped(text));
    }

    pub fn paragraph(&mut self, text: &str) {
        let _ = writeln!(self.0, "<p class=\"note\">{}</p>", escaped(text));
    }

    /// Figures with what they are.
    pub fn tiles(&mut self, tiles: &[(String, &str)]) {
        self.0.push_str("<div class=\"tiles\">");
        for (figure, name) in tiles {
            let _ = write!(self.0, "<div><b>{}</b><span>{}</span></div>", escaped(figure), escaped(name));
        }
        self.0.push_str("</div>\n");
    }

    /// Adds text with its own lines, such as a statement.
    pub fn lines(&mut self, text: &str) {
        let _ = writeln!(self.0, "<pre>{}</pre>", escaped(text));
    }

    /// Adds a chart; `said` is for those who do not see it.
    pub fn figure(&mut self, said: &str, svg: &str) {
        let _ = writeln!(self.0, "<figure role=\"img\" aria-label=\"{}\">{svg}</figure>", escaped(said));
    }

    /// Adds a table. Columns from `numbers` on stand to the right.
    pub fn table(&mut self, head: &[&str], numbers: usize, rows: &[Vec<String>]) {
        let class = |column: usize| if column >= numbers { " class=\"n\"" } else { "" };
        self.0.push_str("<table><thead><tr>");
        for (column, name) in head.iter().enumerate() {
            let _ = write!(self.0, "<th{}>{}</th>", class(column), escaped(name));
        }
        self.0.push_str("</tr></thead><tbody>");
        for row in rows {
            self.0.push_str("<tr>");
            for (column, cell) in row.iter().enumerate() {
                let _ = write!(self.0, "<td{}>{}</td>", class(column), escaped(cell));
            }
            self.0.push_str("</tr>");
        }
        self.0.push_str("</tbody></table>\n");
    }

    /// Makes the whole page of some bodies.
    pub fn page(title: &str, bodies: &[Body]) -> String {
        let mut page = format!(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
             <title>{}</title><style>{STYLE}</style></head>\n<body><main>\n",
            escaped(title)
        );
        bodies.iter().for_each(|body| page.push_str(&body.0));
        page.push_str("</main></body></html>\n");
        page
    }
}

/// Escapes text for HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
