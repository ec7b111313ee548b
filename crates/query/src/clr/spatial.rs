//! geometry and geography: shapes and the bytes that spell them (MS-SSCLRT, "GEOGRAPHY and GEOMETRY Structures").

/// A value: a shape and its reference system.
#[derive(Debug, Clone, PartialEq)]
pub struct Spatial {
    /// The reference system.
    pub srid: i32,
    /// The shape.
    pub shape: Shape,
}

/// A point: x and y (longitude and latitude), and z and m where they are given.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Longitude.
    pub x: f64,
    /// Latitude.
    pub y: f64,
    /// Elevation.
    pub z: Option<f64>,
    /// Measure.
    pub m: Option<f64>,
}

/// A shape. A polygon's first ring is the outer one.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// POINT; None is empty.
    Point(Option<Point>),
    /// LINESTRING.
    Line(Vec<Point>),
    /// POLYGON.
    Polygon(Vec<Vec<Point>>),
    /// MULTIPOINT, MULTILINESTRING, MULTIPOLYGON and GEOMETRYCOLLECTION, with their number.
    Many(u8, Vec<Shape>),
}

impl Shape {
    /// Returns the name of the shape as STGeometryType spells it.
    pub fn name(&self) -> &'static str {
        match self {
            Shape::Point(_) => "Point",
            Shape::Line(_) => "LineString",
            Shape::Polygon(_) => "Polygon",
            Shape::Many(4, _) => "MultiPoint",
            Shape::Many(5, _) => "MultiLineString",
            Shape::Many(6, _) => "MultiPolygon",
            Shape::Many(..) => "GeometryCollection",
        }
    }

    /// Returns the number of points.
    pub fn points(&self) -> usize {
        match self {
            Shape::Point(point) => usize::from(point.is_some()),
            Shape::Line(points) => points.len(),
            Shape::Polygon(rings) => rings.iter().map(Vec::len).sum(),
            Shape::Many(_, shapes) => shapes.iter().map(Shape::points).sum(),
        }
    }

    /// Drops elevation and measure.
    pub fn flat(&self) -> Shape {
        let flat = |point: &Point| Point { z: None, m: None, ..*point };
        let all = |points: &Vec<Point>| points.iter().map(flat).collect::<Vec<_>>();
        match self {
            Shape::Point(point) => Shape::Point(point.as_ref().map(flat)),
            Shape::Line(points) => Shape::Line(all(points)),
            Shape::Polygon(rings) => Shape::Polygon(rings.iter().map(all).collect()),
            Shape::Many(number, shapes) => Shape::Many(*number, shapes.iter().map(Shape::flat).collect()),
        }
    }
}

/// Numbers of shapes in the bytes.
const POINT: u8 = 1;
const LINE: u8 = 2;
const POLYGON: u8 = 3;
pub(super) const COLLECTIONS: [(u8, &str); 4] =
    [(4, "MULTIPOINT"), (5, "MULTILINESTRING"), (6, "MULTIPOLYGON"), (7, "GEOMETRYCOLLECTION")];

/// Bits of the properties.
const HAS_Z: u8 = 0x01;
const HAS_M: u8 = 0x02;
const VALID: u8 = 0x04;
const SINGLE_POINT: u8 = 0x08;
const SINGLE_LINE: u8 = 0x10;

/// Shapes within one another that are followed.
const DEPTH_MAX: usize = 32;

/// The contents of the bytes, before shapes are made of them.
#[derive(Default)]
struct Tables {
    points: Vec<Point>,
    /// The kind of each figure, and its first point.
    figures: Vec<(u8, i32)>,
    /// The shape around it, its first figure, and its number.
    shapes: Vec<(i32, i32, u8)>,
}

impl Spatial {
    /// Bytes of version 1. In geography the latitude stands first.
    pub fn bytes(&self, geography: bool) -> Vec<u8> {
        let mut tables = Tables::default();
        tables.add(&self.shape, -1);
        let has = |of: fn(&Point) -> bool| tables.points.iter().any(of);
        let (has_z, has_m) = (has(|point| point.z.is_some()), has(|point| point.m.is_some()));
        let mut properties = VALID | if has_z { HAS_Z } else { 0 } | if has_m { HAS_M } else { 0 };
        let single = match &self.shape {
            Shape::Point(Some(_)) => SINGLE_POINT,
            Shape::Line(points) if points.len() == 2 => SINGLE_LINE,
            _ => 0,
        };
        properties |= single;
        let mut bytes = self.srid.to_le_bytes().to_vec();
        bytes.extend([1, properties]);
        let count = |bytes: &mut Vec<u8>, count: usize| {
            bytes.extend(u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
        };
        if single == 0 {
            count(&mut bytes, tables.points.len());
        }
        for point in &tables.points {
            let (first, second) = if geography { (point.y, point.x) } else { (point.x, point.y) };
            bytes.extend(first.to_le_bytes());
            bytes.extend(second.to_le_bytes());
        }
        for (wanted, of) in
            [(has_z, (|point| point.z) as fn(&Point) -> Option<f64>), (has_m, |point| point.m)]
        {
            for point in tables.points.iter().filter(|_| wanted) {
                bytes.extend(of(point).unwrap_or(f64::NAN).to_le_bytes());
            }
        }
        if single == 0 {
            count(&mut bytes, tables.figures.len());
            for (kind, first) in &tables.figures {
                bytes.push(*kind);
                bytes.extend(first.to_le_bytes());
            }
            count(&mut bytes, tables.shapes.len());
            for (parent, first, number) in &tables.shapes {
                bytes.extend(parent.to_le_bytes());
                bytes.extend(first.to_le_bytes());
                bytes.push(*number);
            }
        }
        bytes
    }

    /// Reads bytes of versions 1 and 2; None for other bytes, and for curves.
    pub fn read(bytes: &[u8], geography: bool) -> Option<Spatial> {
        let mut reader = Reader { rest: bytes };
        let srid = reader.int()?;
        let version = reader.byte()?;
        if !matches!(version, 1 | 2) {
            return None;
        }
        let properties = reader.byte()?;
        let single = properties & (SINGLE_POINT | SINGLE_LINE);
        let points = match single {
            0 => reader.count(16)?,
            SINGLE_POINT => 1,
            _ => 2,
        };
        let mut tables = Tables::default();
        for _ in 0..points {
            let (first, second) = (reader.double()?, reader.double()?);
            let (x, y) = if geography { (second, first) } else { (first, second) };
            tables.points.push(Point { x, y, z: None, m: None });
        }
        if properties & HAS_Z != 0 {
            for point in &mut tables.points {
                point.z = reader.double().map(Some)?.filter(|z| !z.is_nan());
            }
        }
        if properties & HAS_M != 0 {
            for point in &mut tables.points {
                point.m = reader.double().map(Some)?.filter(|m| !m.is_nan());
            }
        }
        if single == SINGLE_POINT {
            return Some(Spatial { srid, shape: Shape::Point(tables.points.first().copied()) });
        }
        if single == SINGLE_LINE {
            return Some(Spatial { srid, shape: Shape::Line(tables.points) });
        }
        for _ in 0..reader.count(5)? {
            tables.figures.push((reader.byte()?, reader.int()?));
        }
        for _ in 0..reader.count(9)? {
            tables.shapes.push((reader.int()?, reader.int()?, reader.byte()?));
        }
        Some(Spatial { srid, shape: tables.shape(0, 0)? })
    }
}

impl Tables {
    fn add(&mut self, shape: &Shape, parent: i32) {
        let index = self.shapes.len() as i32;
        let empty = match shape {
            Shape::Point(point) => point.is_none(),
            Shape::Line(points) => points.is_empty(),
            Shape::Polygon(rings) => rings.is_empty(),
            Shape::Many(_, shapes) => shapes.is_empty(),
        };
        let first = if empty { -1 } else { self.figures.len() as i32 };
        let number = match shape {
            Shape::Point(_) => POINT,
            Shape::Line(_) => LINE,
            Shape::Polygon(_) => POLYGON,
            Shape::Many(number, _) => *number,
        };
        self.shapes.push((parent, first, number));
        match shape {
            Shape::Point(point) => {
                if let Some(point) = point {
                    self.figure(1, std::slice::from_ref(point));
                }
            }
            Shape::Line(points) if !points.is_empty() => self.figure(1, points),
            Shape::Line(_) => {}
            Shape::Polygon(rings) => {
                for (position, ring) in rings.iter().enumerate() {
                    self.figure(if position == 0 { 2 } else { 0 }, ring);
                }
            }
            Shape::Many(_, shapes) => {
                for shape in shapes {
                    self.add(shape, index);
                }
            }
        }
    }

    fn figure(&mut self, kind: u8, points: &[Point]) {
        self.figures.push((kind, self.points.len() as i32));
        self.points.extend_from_slice(points);
    }

    fn shape(&self, index: usize, depth: usize) -> Option<Shape> {
        let (_, first, number) = *self.shapes.get(index)?;
        if let Some((number, _)) = COLLECTIONS.iter().find(|(known, _)| *known == number) {
            let inner = self.shapes.iter().enumerate().skip(index + 1);
            let inner = inner.filter(|(_, (parent, ..))| usize::try_from(*parent) == Ok(index));
            if depth >= DEPTH_MAX {
                return None;
            }
            let shapes = inner.map(|(inner, _)| self.shape(inner, depth + 1)).collect::<Option<Vec<_>>>()?;
            return Some(Shape::Many(*number, shapes));
        }
        // The figures up to the first one of the next shape that has any.
        let begin = usize::try_from(first).ok();
        let next = self.shapes.iter().skip(index + 1).find_map(|(_, next, _)| usize::try_from(*next).ok());
        let figures = match begin {
            Some(begin) => (begin..next.unwrap_or(self.figures.len()))
                .map(|figure| self.points_of(figure))
                .collect::<Option<Vec<_>>>()?,
            None => Vec::new(),
        };
        match number {
            POINT => Some(Shape::Point(figures.first().and_then(|figure| figure.first().copied()))),
            LINE => Some(Shape::Line(figures.into_iter().next().unwrap_or_default())),
            POLYGON => Some(Shape::Polygon(figures)),
            _ => None,
        }
    }

    fn points_of(&self, figure: usize) -> Option<Vec<Point>> {
        let (_, first) = *self.figures.get(figure)?;
        let next = self.figures.get(figure + 1).map(|(_, next)| usize::try_from(*next));
        let end = next.transpose().ok()?.unwrap_or(self.points.len());
        self.points.get(usize::try_from(first).ok()?..end).map(<[Point]>::to_vec)
    }
}

struct Reader<'b> {
    rest: &'b [u8],
}

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*head)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take::<1>().map(|[byte]| byte)
    }

    fn int(&mut self) -> Option<i32> {
        self.take().map(i32::from_le_bytes)
    }

    fn double(&mut self) -> Option<f64> {
        self.take().map(f64::from_le_bytes)
    }

    /// Reads a count of entries of `width` bytes, for which there is room.
    fn count(&mut self, width: usize) -> Option<usize> {
        let count = usize::try_from(self.int()?).ok()?;
        (count.checked_mul(width)? <= self.rest.len()).then_some(count)
    }
}
