//! The page of a scenario: what was simulated, the plots, the table, the targets.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::report::Report;

const STYLE: &str = "
body { font: 16px/1.5 system-ui, sans-serif; color: #333; max-width: 1100px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
svg { width: 100%; height: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .9rem; text-align: right; border-bottom: 1px solid #ddd; }
th:first-child, td:first-child { text-align: left; }
.missed { color: #b00020; font-weight: 600; }
";

/// What a page shows.
pub(crate) struct Page<'a> {
    pub(crate) title: &'a str,
    pub(crate) report: &'a Report,
    /// The plots.
    pub(crate) svg: &'a str,
    /// How to read it, a paragraph each.
    pub(crate) notes: &'a [String],
}

impl Page<'_> {
    /// The page as HTML; it needs no other file.
    pub(crate) fn html(&self) -> String {
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    title { (self.title) }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    h1 { (self.title) }
                    p { (self.report.about) }
                    (PreEscaped(self.svg))
                    h2 { "Policies" }
                    (self.table())
                    h2 { "Targets" }
                    (self.targets())
                    h2 { "How to read it" }
                    @for note in self.notes { p { (note) } }
                }
            }
        };
        page.into_string()
    }

    fn table(&self) -> Markup {
        let mut rows = self.report.table.iter();
        html! {
            table {
                @if let Some(header) = rows.next() {
                    thead { tr { @for title in header { th { (title) } } } }
                }
                tbody { @for row in rows { tr { @for cell in row { td { (cell) } } } } }
            }
        }
    }

    fn targets(&self) -> Markup {
        html! {
            table {
                thead { tr { th { "target" } th { "bound" } th { "found" } th { "" } } }
                tbody {
                    @for aim in &self.report.aims {
                        tr {
                            td { (aim.name) }
                            td { (aim.bound) }
                            td { (format!("{:.2}", aim.value)) }
                            td class=[(!aim.met).then_some("missed")] { (if aim.met { "met" } else { "missed" }) }
                        }
                    }
                }
            }
        }
    }
}
