//! Plots: panels over one axis of time, with one legend for all of them, as an SVG.

use std::ops::Range;

use anyhow::anyhow;
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// The drawing's size in pixels.
const WIDTH: u32 = 1_100;
const PANEL_HEIGHT: u32 = 270;
const TITLE_HEIGHT: u32 = 48;
const LEGEND_HEIGHT: u32 = 34;
const MARGIN: i32 = 16;
const FONT: &str = "sans-serif";
const INK: RGBColor = RGBColor(0x33, 0x33, 0x33);
const GRID: RGBColor = RGBColor(0xe4, 0xe4, 0xe4);
const MARK: RGBColor = RGBColor(0x77, 0x77, 0x77);

/// How far above its level a label stands, as a share of the axis.
const LABEL_GAP: f64 = 0.015;

/// Colours that people with any colour vision can tell apart, by Okabe and Ito; dark enough for thin lines on white.
pub(crate) const COLOURS: [RGBColor; 5] = [
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
];

/// A drawing.
pub(crate) struct Chart {
    pub(crate) title: String,
    /// What the axis of time counts, with its unit.
    pub(crate) time: String,
    pub(crate) span: Range<f64>,
    /// The names of the lines, in the order of each panel's lines.
    pub(crate) legend: Vec<String>,
    /// Moments that every panel marks, with what happens then.
    pub(crate) moments: Vec<(f64, String)>,
    pub(crate) panels: Vec<Panel>,
}

/// One panel.
pub(crate) struct Panel {
    pub(crate) title: String,
    /// What the axis counts, with its unit.
    pub(crate) axis: String,
    pub(crate) range: Range<f64>,
    pub(crate) lines: Vec<Vec<(f64, f64)>>,
    /// Levels that are marked, with what they are.
    pub(crate) levels: Vec<(f64, String)>,
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Plot<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

impl Chart {
    /// The drawing as SVG.
    ///
    /// # Errors
    /// When the library cannot draw it, such as for an empty range.
    pub(crate) fn svg(&self) -> anyhow::Result<String> {
        let panels = u32::try_from(self.panels.len())?;
        let mut svg = String::new();
        let size = (WIDTH, TITLE_HEIGHT + LEGEND_HEIGHT + panels * PANEL_HEIGHT);
        self.draw(&SVGBackend::with_string(&mut svg, size).into_drawing_area())
            .map_err(|error| anyhow!("the plot cannot be drawn: {error}"))?;
        Ok(svg)
    }

    fn draw(&self, root: &Area<'_>) -> Result<(), Box<dyn std::error::Error>> {
        root.fill(&WHITE)?;
        let (head, rest) = root.split_vertically(TITLE_HEIGHT);
        head.draw_text(&self.title, &text(20, INK), (MARGIN, MARGIN))?;
        let (legend, rest) = rest.split_vertically(LEGEND_HEIGHT);
        self.draw_legend(&legend)?;
        let last = self.panels.len().saturating_sub(1);
        for (index, (panel, area)) in self.panels.iter().zip(rest.split_evenly((self.panels.len(), 1))).enumerate() {
            self.draw_panel(panel, &area, (index == last).then_some(self.time.as_str()))?;
        }
        root.present()?;
        Ok(())
    }

    fn draw_legend(&self, area: &Area<'_>) -> Result<(), Box<dyn std::error::Error>> {
        let mut x = MARGIN;
        for (name, style) in self.legend.iter().zip(styles()) {
            area.draw(&PathElement::new(vec![(x, 12), (x + 28, 12)], style))?;
            area.draw_text(name, &text(15, INK), (x + 36, 4))?;
            x += 70 + 8 * i32::try_from(name.chars().count())?;
        }
        Ok(())
    }

    fn draw_panel(
        &self,
        panel: &Panel,
        area: &Area<'_>,
        time: Option<&str>,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let mut plot = ChartBuilder::on(area)
            .caption(&panel.title, text(16, INK))
            .margin(MARGIN)
            .margin_top(4)
            .x_label_area_size(if time.is_some() { 44 } else { 24 })
            .y_label_area_size(76)
            .build_cartesian_2d(self.span.clone(), panel.range.clone())?;
        plot.configure_mesh()
            .axis_style(INK)
            .bold_line_style(GRID)
            .light_line_style(TRANSPARENT)
            .x_labels(12)
            .y_labels(6)
            .x_label_formatter(&|value| number(*value))
            .y_label_formatter(&|value| number(*value))
            .x_desc(time.unwrap_or_default())
            .y_desc(&panel.axis)
            .label_style(text(13, INK))
            .axis_desc_style(text(14, INK))
            .draw()?;
        self.draw_marks(panel, &mut plot)?;
        for (line, style) in panel.lines.iter().zip(styles()) {
            let inside = line.iter().filter(|(x, _)| self.span.contains(x));
            let clipped = inside.map(|(x, y)| (*x, y.clamp(panel.range.start, panel.range.end)));
            plot.draw_series(LineSeries::new(clipped, style))?;
        }
        Ok(())
    }

    fn draw_marks(&self, panel: &Panel, plot: &mut Plot<'_, '_>) -> Result<(), Box<dyn std::error::Error>> {
        let Range { start: left, end: right } = self.span;
        let Range { start: bottom, end: top } = panel.range;
        let label = |vertical| text(13, MARK).pos(Pos::new(HPos::Right, vertical));
        for (level, name) in &panel.levels {
            plot.draw_series(DashedLineSeries::new([(left, *level), (right, *level)], 5, 4, MARK.stroke_width(1)))?;
            let above = level + (top - bottom) * LABEL_GAP;
            plot.draw_series([Text::new(name.clone(), (right, above), label(VPos::Bottom))])?;
        }
        for (at, name) in &self.moments {
            plot.draw_series(DashedLineSeries::new([(*at, bottom), (*at, top)], 2, 4, MARK.stroke_width(1)))?;
            plot.draw_series([Text::new(format!("{name} "), (*at, top), label(VPos::Top))])?;
        }
        Ok(())
    }
}

/// One style for each line. The middle one is wider, so that it still shows below one that runs along it.
fn styles() -> impl Iterator<Item = ShapeStyle> {
    COLOURS.iter().zip([2, 2, 4, 2, 2]).map(|(colour, width)| colour.stroke_width(width))
}

fn text(size: i32, colour: RGBColor) -> TextStyle<'static> {
    TextStyle { color: colour.to_backend_color(), ..TextStyle::from((FONT, size).into_font()) }
}

/// A number as an axis shows it: thousands apart, no more places than it needs.
pub(crate) fn number(value: f64) -> String {
    let plain = format!("{:.0}", value.abs());
    if (value - value.round()).abs() > 1e-6 {
        return format!("{value:.1}");
    }
    let digits = plain.chars().rev().enumerate();
    let grouped = digits
        .flat_map(|(index, digit)| [(index > 0 && index % 3 == 0).then_some(','), Some(digit)].into_iter().flatten());
    let grouped: String = grouped.collect::<Vec<_>>().into_iter().rev().collect();
    if value < -0.5 { format!("-{grouped}") } else { grouped }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_their_thousands_stand_apart() {
        assert_eq!(
            [1.0, -20.0, 0.5, 1_234.0, 60_000.0, 1e6].map(number),
            ["1", "-20", "0.5", "1,234", "60,000", "1,000,000"]
        );
    }
}
