//! Well-known text of shapes (OGC 06-103r4, section 7), with elevation and measure as SQL Server writes them.

use std::fmt;

use super::spatial::{COLLECTIONS, Point, Shape, Spatial};

/// Shapes within one another that are read.
const DEPTH_MAX: usize = 32;

impl Spatial {
    /// Reads text such as `POINT (1 2)`; None for anything else.
    pub fn parse(text: &str, srid: i32) -> Option<Spatial> {
        let mut parser = Parser { rest: text };
        let shape = parser.shape(0)?;
        parser.rest.trim().is_empty().then_some(Spatial { srid, shape })
    }
}

struct Parser<'t> {
    rest: &'t str,
}

impl Parser<'_> {
    fn word(&mut self) -> String {
        self.rest = self.rest.trim_start();
        let end = self.rest.find(|ch: char| !ch.is_ascii_alphabetic()).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word.to_ascii_uppercase()
    }

    fn accept(&mut self, symbol: char) -> bool {
        match self.rest.trim_start().strip_prefix(symbol) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn accept_empty(&mut self) -> bool {
        let before = self.rest;
        if self.word() == "EMPTY" {
            return true;
        }
        self.rest = before;
        false
    }

    fn shape(&mut self, depth: usize) -> Option<Shape> {
        if depth >= DEPTH_MAX {
            return None;
        }
        let word = self.word();
        match word.as_str() {
            "POINT" => self.point_text(),
            "LINESTRING" => self.points().map(Shape::Line),
            "POLYGON" => self.rings().map(Shape::Polygon),
            _ => {
                let (number, _) = COLLECTIONS.iter().find(|(_, name)| *name == word)?;
                let part = |parser: &mut Self| match number {
                    4 if !parser.rest.trim_start().starts_with('(') && !parser.at_empty() => {
                        parser.point().map(|point| Shape::Point(Some(point)))
                    }
                    4 => parser.point_text(),
                    5 => parser.points().map(Shape::Line),
                    6 => parser.rings().map(Shape::Polygon),
                    _ => parser.shape(depth + 1),
                };
                self.list(part).map(|shapes| Shape::Many(*number, shapes))
            }
        }
    }

    fn at_empty(&self) -> bool {
        self.rest.trim_start().get(..5).is_some_and(|word| word.eq_ignore_ascii_case("EMPTY"))
    }

    fn point_text(&mut self) -> Option<Shape> {
        if self.accept_empty() {
            return Some(Shape::Point(None));
        }
        let point = (self.accept('(').then(|| self.point())??, self.accept(')'));
        point.1.then_some(Shape::Point(Some(point.0)))
    }

    fn points(&mut self) -> Option<Vec<Point>> {
        self.list(Self::point)
    }

    /// Rings are closed and have four points at least.
    fn rings(&mut self) -> Option<Vec<Vec<Point>>> {
        let rings = self.list(Self::points)?;
        let closed = |ring: &Vec<Point>| ring.len() >= 4 && ring.first() == ring.last();
        rings.iter().all(closed).then_some(rings)
    }

    fn list<T>(&mut self, mut part: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        if self.accept_empty() {
            return Some(Vec::new());
        }
        if !self.accept('(') {
            return None;
        }
        let mut parts = vec![part(self)?];
        while self.accept(',') {
            parts.push(part(self)?);
        }
        self.accept(')').then_some(parts)
    }

    fn point(&mut self) -> Option<Point> {
        let (x, y) = (self.number()??, self.number()??);
        let z = self.number().flatten();
        let m = self.number().flatten();
        Some(Point { x, y, z, m })
    }

    /// Reads a number, or NULL as an inner `None`; `None` where neither stands.
    fn number(&mut self) -> Option<Option<f64>> {
        let text = self.rest.trim_start();
        let end =
            text.find(|ch: char| ch.is_whitespace() || matches!(ch, ',' | '(' | ')')).unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        let number = if word.eq_ignore_ascii_case("NULL") {
            None
        } else {
            Some(word.parse::<f64>().ok().filter(|number| number.is_finite())?)
        };
        self.rest = rest;
        Some(number)
    }
}

impl fmt::Display for Spatial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_shape(f, &self.shape, true)
    }
}

fn write_shape(f: &mut fmt::Formatter<'_>, shape: &Shape, named: bool) -> fmt::Result {
    let (name, empty) = match shape {
        Shape::Point(point) => ("POINT", point.is_none()),
        Shape::Line(points) => ("LINESTRING", points.is_empty()),
        Shape::Polygon(rings) => ("POLYGON", rings.is_empty()),
        Shape::Many(number, shapes) => {
            let name = COLLECTIONS.iter().find(|(known, _)| known == number).map_or("", |(_, name)| name);
            (name, shapes.is_empty())
        }
    };
    if named {
        write!(f, "{name} ")?;
    }
    if empty {
        return f.write_str("EMPTY");
    }
    f.write_str("(")?;
    match shape {
        Shape::Point(point) => write_points(f, point.as_slice())?,
        Shape::Line(points) => write_points(f, points)?,
        Shape::Polygon(rings) => {
            for (position, ring) in rings.iter().enumerate() {
                f.write_str(if position == 0 { "(" } else { ", (" })?;
                write_points(f, ring)?;
                f.write_str(")")?;
            }
        }
        Shape::Many(number, shapes) => {
            for (position, shape) in shapes.iter().enumerate() {
                if position > 0 {
                    f.write_str(", ")?;
                }
                write_shape(f, shape, *number == 7)?;
            }
        }
    }
    f.write_str(")")
}

fn write_points(f: &mut fmt::Formatter<'_>, points: &[Point]) -> fmt::Result {
    for (position, point) in points.iter().enumerate() {
        if position > 0 {
            f.write_str(", ")?;
        }
        write!(f, "{} {}", point.x, point.y)?;
        match (point.z, point.m) {
            (None, None) => {}
            (Some(z), None) => write!(f, " {z}")?,
            (Some(z), Some(m)) => write!(f, " {z} {m}")?,
            (None, Some(m)) => write!(f, " NULL {m}")?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_survive_text_and_bytes() {
        let texts = [
            "POINT (1 2)",
            "POINT (1.5 -2 3 4)",
            "POINT (1 2 NULL 4)",
            "POINT EMPTY",
            "LINESTRING (1 2, 3 4)",
            "LINESTRING (1 2, 3 4, 5 6)",
            "POLYGON ((0 0, 4 0, 4 4, 0 0), (1 1, 2 1, 2 2, 1 1))",
            "MULTIPOINT ((1 2), (3 4))",
            "MULTILINESTRING ((1 2, 3 4), (5 6, 7 8))",
            "MULTIPOLYGON (((0 0, 4 0, 4 4, 0 0)), ((5 5, 6 5, 6 6, 5 5), (5 5, 6 5, 6 6, 5 5)))",
            "GEOMETRYCOLLECTION (POINT (1 2), LINESTRING EMPTY, MULTIPOINT ((1 2)), POLYGON ((0 0, 1 0, 1 1, 0 0)))",
            "GEOMETRYCOLLECTION EMPTY",
        ];
        for text in texts {
            for geography in [false, true] {
                let value = Spatial::parse(text, 7);
                let read = value.as_ref().and_then(|value| Spatial::read(&value.bytes(geography), geography));
                assert_eq!(read, value, "{text}");
                assert_eq!(value.map(|value| value.to_string()), Some(text.to_string()));
            }
        }
        for bad in [
            "",
            "POINT",
            "POINT (1)",
            "POINT (1 x)",
            "POINT (1 2",
            "POLYGON ((0 0, 1 1, 0 0))",
            "CIRCLE (1 2)",
            "POINT (1 2) x",
        ] {
            assert_eq!(Spatial::parse(bad, 0), None, "{bad}");
        }
    }

    #[test]
    fn a_point_is_its_reference_system_version_properties_and_coordinates() {
        let bytes = Spatial::parse("POINT (5 10)", 4326).map(|value| value.bytes(false));
        let expected =
            [0xE6, 0x10, 0, 0, 1, 0x0C, 0, 0, 0, 0, 0, 0, 0x14, 0x40, 0, 0, 0, 0, 0, 0, 0x24, 0x40];
        assert_eq!(bytes.as_deref(), Some(expected.as_slice()));
    }

    #[test]
    fn damaged_bytes_are_refused() {
        let whole = Spatial::parse("GEOMETRYCOLLECTION (POINT (1 2), LINESTRING (1 2, 3 4, 5 6))", 0)
            .map(|value| value.bytes(false))
            .unwrap_or_default();
        for cut in 0..whole.len() {
            assert_eq!(Spatial::read(&whole[..cut], false), None, "{cut}");
        }
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0xFF;
            let _ = Spatial::read(&damaged, false);
        }
    }
}
