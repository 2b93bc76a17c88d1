//! The header of a page of a Parquet file, a structure in Thrift's compact protocol: the fields that are made anew are read and written, all
//! others stay byte for byte. Numbers of fields: <https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift>.

use aes_bitslice_core::memory::{NoMemory, room};

/// The type of a field of 32 bits.
const I32: u8 = 5;
const CHECKSUM: i64 = 4;
/// How deep structures, lists and maps may be in each other. Those of the format are three deep.
const DEPTH: u8 = 32;
/// A number of as many bytes as one of 32 bits may take: that of a checksum that is not known yet.
const ANY: [u8; 5] = [0x80, 0x80, 0x80, 0x80, 0];

/// The most bytes of what `write` writes before the rest.
const MOST: usize = 4 * 6 + 11;

/// The fields of a header.
pub struct Header<'a> {
    pub is_dictionary: bool,
    /// Bytes of the page before compression, and as it is in the file.
    pub uncompressed: i32,
    pub compressed: i32,
    pub has_checksum: bool,
    kind: i32,
    /// The field after these: its number and type, and the bytes from there to the end of the structure.
    rest: Option<(i64, u8, &'a [u8])>,
}

impl<'a> Header<'a> {
    /// The header that `data` begins with, and the number of its bytes; else what is wrong.
    pub fn read(data: &'a [u8]) -> Result<(Self, usize), String> {
        let mut left = Left(data);
        let (fields, rest) = left.header().ok_or("a structure is cut or is none")?;
        let field =
            |number: usize| fields[number].ok_or_else(|| format!("a structure has no field {number} of type {I32}"));
        let (kind, has_checksum) = (field(1)?, fields[4].is_some());
        let (uncompressed, compressed) = (field(2)?, field(3)?);
        let header = Self { is_dictionary: kind == 2, uncompressed, compressed, has_checksum, kind, rest };
        Ok((header, data.len() - left.0.len()))
    }

    /// Whether it is of a data page, of version 1 or 2.
    pub fn is_data(&self) -> bool {
        matches!(self.kind, 0 | 3)
    }

    /// The bytes of the header for a page of another size; with a checksum, also where in them its number is, which is to be set.
    pub fn write(&self, compressed: i32, checksum: bool) -> Result<(Vec<u8>, Option<usize>), NoMemory> {
        let (mut out, mut place, mut last) = (room(MOST + self.rest.map_or(0, |(_, _, rest)| rest.len()))?, None, 3);
        for number in [self.kind, self.uncompressed, compressed] {
            out.push(1 << 4 | I32);
            put(&mut out, number.into());
        }
        if checksum {
            out.push(1 << 4 | I32);
            place = Some(out.len());
            out.extend(ANY);
            last = CHECKSUM;
        }
        match self.rest {
            None => out.push(0),
            Some((number, kind, rest)) => {
                match number - last {
                    step @ 1..16 => out.push((step as u8) << 4 | kind),
                    _ => {
                        out.push(kind);
                        put(&mut out, number);
                    }
                }
                out.extend(rest);
            }
        }
        Ok((out, place))
    }
}

/// Writes a number.
fn put(out: &mut Vec<u8>, number: i64) {
    let mut left = (number << 1 ^ number >> 63) as u64;
    while left > 0x7f {
        out.push(left as u8 | 0x80);
        left >>= 7;
    }
    out.push(left as u8);
}

/// The bytes that are not read yet. `None` is returned where they are no structure.
struct Left<'a>(&'a [u8]);

impl<'a> Left<'a> {
    /// The first fields by number, and what comes after them.
    #[expect(clippy::type_complexity, reason = "of one call")]
    fn header(&mut self) -> Option<([Option<i32>; 5], Option<(i64, u8, &'a [u8])>)> {
        let (mut fields, mut rest, mut last) = ([None; 5], None, 0);
        while let Some((number, kind)) = self.field(last)? {
            // Readers take the last of several with one number.
            if number <= last || (number <= CHECKSUM && kind != I32) {
                return None;
            }
            if number > CHECKSUM {
                rest.get_or_insert((number, kind, self.0));
                self.in_field(kind, DEPTH)?;
            } else {
                fields[number as usize] = Some(self.number()?.try_into().ok()?);
            }
            last = number;
        }
        Some((fields, rest.map(|(number, kind, from)| (number, kind, &from[..from.len() - self.0.len()]))))
    }

    /// The number and the type of the next field; nothing at the end of a structure.
    fn field(&mut self, last: i64) -> Option<Option<(i64, u8)>> {
        let head = self.byte()?;
        let number = match head >> 4 {
            _ if head == 0 => return Some(None),
            0 => self.number()?,
            step => last.checked_add(step.into())?,
        };
        Some(Some((number, head & 15)))
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn skip(&mut self, bytes: u64) -> Option<()> {
        self.0 = self.0.get(usize::try_from(bytes).ok()?..)?;
        Some(())
    }

    fn unsigned(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let digit = u64::from(byte & 0x7f);
            if digit << shift >> shift != digit {
                return None;
            }
            number |= digit << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn number(&mut self) -> Option<i64> {
        let number = self.unsigned()?;
        Some((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    /// Passes over the fields of a structure up to its end, whose numbers do not count.
    fn structure(&mut self, depth: u8) -> Option<()> {
        while let Some((_, kind)) = self.field(0)? {
            self.in_field(kind, depth)?;
        }
        Some(())
    }

    /// Passes over the value of a field. A boolean is in its type.
    fn in_field(&mut self, kind: u8, depth: u8) -> Option<()> {
        if let 1 | 2 = kind { Some(()) } else { self.value(kind, depth) }
    }

    /// Passes over a value. Each has a byte or more, so that no number of them takes longer than its bytes.
    fn value(&mut self, kind: u8, depth: u8) -> Option<()> {
        match kind {
            1..=3 => self.skip(1),
            4..=6 => self.unsigned().map(drop),
            7 => self.skip(8),
            8 => {
                let bytes = self.unsigned()?;
                self.skip(bytes)
            }
            9 | 10 => {
                let head = self.byte()?;
                let count = if head >> 4 == 15 { self.unsigned()? } else { u64::from(head >> 4) };
                self.values(count, &[head & 15], depth)
            }
            11 => match self.unsigned()? {
                0 => Some(()),
                count => {
                    let kinds = self.byte()?;
                    self.values(count, &[kinds >> 4, kinds & 15], depth)
                }
            },
            12 => self.structure(depth.checked_sub(1)?),
            13 => self.skip(16),
            _ => None,
        }
    }

    /// Passes over the elements of a list, or the pairs of a map.
    fn values(&mut self, count: u64, kinds: &[u8], depth: u8) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        (0..count).try_for_each(|_| kinds.iter().try_for_each(|&kind| self.value(kind, depth)))
    }
}
