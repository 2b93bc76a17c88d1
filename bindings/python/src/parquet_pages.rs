//! The pages of a Parquet file: read from an encrypted or a plain one, and written as either.
//!
//! ```text
//! encrypted   | length, nonce, header, tag | length, nonce, page, tag | ..    (sections 4 and 5.1 of the format)
//! plain       | header | page | ..
//! ```
//!
//! The rest of a file is Python's (`python/aes_bitslice/_parquet_file.py`). Columns are read, and pages written, by several threads.
//! The format: <https://github.com/apache/parquet-format/blob/master/Encryption.md>.

use crate::call::{LONG, watched};
use crate::cipher::Cipher;
use crate::error::{AuthenticationError, caught, no_memory, of_runtime, panicked};
use crate::memory::{Host, Memory};
use crate::opened::Opened;
use crate::page_header::Header;
use crate::signals;
use aes_bitslice_core::memory::{append, collected, filled, room};
use aes_bitslice_runtime::{Counter, CounterMode, Ctr, Error, GcmDecrypt, GcmEncrypt, Stop, Tag, at_once, divided};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Kinds of modules by their numbers in the format; that of a header is higher by `HEADER` than that of its page.
const DATA: u8 = 2;
const DICTIONARY: u8 = 3;
const HEADER: u8 = 2;
/// Bytes of a frame before the ciphertext, and of a tag after it.
const HEAD: usize = 16;
const TAG: usize = 16;
/// The first number of a row group, column or page that the format has no room for.
const NO_NUMBER: usize = 1 << 15;
/// Pages that are on their way to a device and back at the same time.
const TO_DEVICE: usize = 16;

/// How a column is encrypted: the ciphers of headers and of pages, the additional data that all modules of the file share, and whether pages
/// are without tags.
#[derive(FromPyObject)]
struct Protection(Py<Cipher>, Py<Cipher>, Vec<u8>, bool);

/// A column of a row group as Python gives it: itself, the numbers of the row group and the column, its bytes in the file, whether a
/// dictionary is first, how it is encrypted, and how it will be.
#[derive(FromPyObject)]
struct Given(Py<PyAny>, (i64, usize), (usize, usize), bool, Option<Protection>, Option<Protection>);

struct Column {
    python: Py<PyAny>,
    row_group: i64,
    column: usize,
    bytes: Range<usize>,
    dictionary_is_first: bool,
    opens: Option<Protection>,
    seals: Option<Protection>,
    pages: Vec<Page>,
}

struct Page {
    module: Module,
    is_dictionary: bool,
    /// The first byte in the file that was read.
    at: usize,
    /// There: the plaintext, or the ciphertext, which a nonce is before and a tag after.
    body: Range<usize>,
    /// As it will be.
    header: Vec<u8>,
    /// The place of the checksum in it.
    checksum: Option<usize>,
    uncompressed: i64,
    /// In the new file: the first byte, the bytes of the header with its frame, and those of both.
    place: usize,
    header_size: usize,
    size: usize,
}

/// A page, or its header.
#[derive(Clone, Copy)]
struct Module {
    kind: u8,
    number: usize,
}

/// Where a column is in the new file: its first byte, the number of its bytes, that with pages not compressed, whether it has a dictionary,
/// and the first byte of its data, if it has any.
type Place = (usize, usize, i64, bool, Option<usize>);

/// Pages that are still encrypted: nonces, tags, additional data of each, the ranges of their plaintexts.
type Encrypted = (Vec<u8>, Vec<u8>, Vec<Vec<u8>>, Vec<(usize, usize)>);

/// The pages of a file, as they are in it and as they will be in a new one, from its byte `first` on.
///
/// most: the most bytes of a module.
/// checksums: whether pages that were decrypted have checksums, if they had them.
#[pyclass(frozen, module = "aes_bitslice", name = "_ParquetPages")]
pub struct ParquetPages {
    columns: Vec<Column>,
    /// Of the file that was read, and where the pages are in the new one.
    bytes: usize,
    range: Range<usize>,
}

#[pymethods]
impl ParquetPages {
    #[new]
    #[pyo3(signature = (file, columns, *, first, most, checksums))]
    fn new(
        py: Python<'_>,
        file: &Bound<'_, PyAny>,
        columns: Vec<Given>,
        first: usize,
        most: usize,
        checksums: bool,
    ) -> PyResult<Self> {
        let file = Memory::of(file, false, "file", None)?;
        let column = |Given(python, (row_group, column), (start, end), dictionary_is_first, opens, seals)| {
            let (bytes, pages) = (start..end, Vec::new());
            Column { python, row_group, column, bytes, dictionary_is_first, opens, seals, pages }
        };
        let mut columns: Vec<_> = columns.into_iter().map(column).collect();
        let (host, engines) = (file.host(), engines(&columns));
        let all = columns.iter_mut().map(|column| (0, column)).collect();
        by_threads(py, (&engines, false), host.len, all, |column| column.read(host.input(), most, checksums))?;
        let mut at = first;
        for page in columns.iter_mut().flat_map(|column| &mut column.pages) {
            page.place = at;
            at += page.size;
        }
        Ok(Self { columns, bytes: host.len, range: first..at })
    }

    /// The first byte after the pages in the new file.
    #[getter]
    fn end(&self) -> usize {
        self.range.end
    }

    /// Where the columns are in the new file.
    fn places(&self) -> Vec<Place> {
        let mut at = self.range.start;
        let place = |Column { pages, .. }: &Column| {
            let start = at;
            at += pages.iter().map(|page| page.size).sum::<usize>();
            let uncompressed = pages.iter().map(|page| page.header_size as i64 + page.uncompressed).sum();
            let data = pages.iter().find(|page| !page.is_dictionary).map(|page| page.place);
            (start, at - start, uncompressed, pages.first().is_some_and(|page| page.is_dictionary), data)
        };
        self.columns.iter().map(place).collect()
    }

    /// For each page of a column, where it was, where it will be, and the number of its bytes there with its header.
    fn moved(&self, column: usize) -> Vec<(usize, usize, usize)> {
        self.columns[column].pages.iter().map(|page| (page.at, page.place, page.size)).collect()
    }

    /// Where checksums are to be written, as numbers of five bytes, and the bytes that each is of.
    fn checksums(&self) -> Vec<(usize, usize, usize)> {
        let place = |Page { place, header_size, size, checksum, .. }: &Page| {
            Some((place + (*checksum)?, place + header_size, place + size))
        };
        self.pages().filter_map(|(_, page)| place(page)).collect()
    }

    /// Writes the pages to the memory of the new file.
    fn fill(&self, py: Python<'_>, file: &Bound<'_, PyAny>, out: &Bound<'_, PyAny>) -> PyResult<()> {
        let (file, out) = (self.file(file)?, Memory::of(out, true, "out", None)?);
        let (host, mut out) = (file.host(), Host::new(out.pointer, out.len as usize));
        let rest = out.output().get_mut(self.range.clone());
        let mut rest = rest.ok_or_else(|| PyValueError::new_err("out is too short"))?;
        let mut pages = room(self.pages().count()).map_err(no_memory)?;
        for (column, page) in self.pages() {
            let (this, after) = rest.split_at_mut(page.size);
            pages.push((page.size, (column, page, this)));
            rest = after;
        }
        let engines = engines(&self.columns);
        let is_device = engines.iter().any(|opened| opened.engine.is_device());
        by_threads(py, (&engines, is_device), self.range.len(), pages, |(column, page, out)| {
            column.write(host.input(), page, out)
        })
    }

    /// Writes bytes of the new file, from its byte `start` on, to memory, where pages stay encrypted as they are in the file that was read.
    /// Returns the places in that memory of what was decrypted.
    fn copy(
        &self,
        py: Python<'_>,
        file: &Bound<'_, PyAny>,
        start: usize,
        out: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<(usize, usize)>> {
        let (file, out) = (self.file(file)?, Memory::of(out, true, "out", None)?);
        let (host, mut out) = (file.host(), Host::new(out.pointer, out.len as usize));
        let (out, end) = (out.output(), start + out.len);
        // What is there of some bytes of the new file.
        let mut put = |at: usize, data: &[u8]| {
            let (from, to) = (at.clamp(start, end), (at + data.len()).clamp(start, end));
            if from < to {
                out[from - start..to - start].copy_from_slice(&data[from - at..to - at]);
            }
            (from - start, to - start)
        };
        let is_there = |page: &Page| page.place < end && start < page.place + page.size;
        py.detach(|| {
            let pages = self.pages().filter(|(_, page)| is_there(page));
            let places = pages.map(|(column, page)| {
                let header = put(page.place, &page.header);
                let body = put(page.place + page.header_size, &host.input()[page.body.clone()]);
                (header.0, if column.opens.is_some() { header.1 } else { body.1 })
            });
            Ok(places.collect())
        })
    }

    /// The pages that are encrypted in the file that was read, of columns with these numbers.
    fn encrypted(&self, file: &Bound<'_, PyAny>, columns: Vec<usize>) -> PyResult<Encrypted> {
        let (file, mut found) = (self.file(file)?, Encrypted::default());
        let host = file.host();
        let data = host.input();
        for column in columns.iter().map(|n| &self.columns[*n]) {
            let Some(opens) = &column.opens else { continue };
            for Page { body, module, place, header_size, size, .. } in &column.pages {
                append(&mut found.0, data[body.start - 12..body.start].iter().copied()).map_err(no_memory)?;
                append(&mut found.1, data[body.end..][..opens.tag(*module)].iter().copied()).map_err(no_memory)?;
                append(&mut found.2, [opens.aad(column, *module)]).map_err(no_memory)?;
                append(&mut found.3, [(place + header_size, place + size)]).map_err(no_memory)?;
            }
        }
        Ok(found)
    }
}

impl ParquetPages {
    /// All pages, each with its column.
    fn pages(&self) -> impl Iterator<Item = (&Column, &Page)> {
        self.columns.iter().flat_map(|column| column.pages.iter().map(move |page| (column, page)))
    }

    /// The file that was read, in which all places are.
    fn file(&self, file: &Bound<'_, PyAny>) -> PyResult<Memory> {
        let memory = Memory::of(file, false, "file", None)?;
        let same = memory.len as usize == self.bytes;
        same.then_some(memory).ok_or_else(|| PyValueError::new_err("the length of the file has changed"))
    }
}

impl Protection {
    fn cipher(&self, module: Module) -> &Cipher {
        if module.is_header() { self.0.get() } else { self.1.get() }
    }

    /// Bytes of the tag of a module.
    fn tag(&self, module: Module) -> usize {
        if self.3 && !module.is_header() { 0 } else { TAG }
    }

    /// The additional data of a module (section 4.4).
    fn aad(&self, column: &Column, Module { kind, number }: Module) -> Vec<u8> {
        let mut aad = [&self.2[..], &[kind]].concat();
        let is_numbered = kind == DATA || kind == DATA + HEADER;
        let numbers = [column.row_group as usize, column.column, number];
        numbers[..2 + usize::from(is_numbered)].iter().for_each(|number| aad.extend((*number as u16).to_le_bytes()));
        aad
    }

    /// The ciphertext in the frame that begins at a byte.
    fn ciphertext(&self, data: &[u8], at: usize, module: Module) -> Option<Range<usize>> {
        let length = u32::from_le_bytes(*data.get(at..)?.first_chunk()?) as usize;
        let end = (at + 4).checked_add(length).filter(|end| *end <= data.len())?;
        let ciphertext = at + HEAD..end.checked_sub(self.tag(module))?;
        (ciphertext.start <= ciphertext.end).then_some(ciphertext)
    }

    /// Decrypts a module to memory of its length.
    fn open(&self, column: &Column, module: Module, data: &[u8], at: &Range<usize>, out: &mut [u8]) -> PyResult<()> {
        let key = &self.cipher(module).key().cipher;
        let (nonce, input, tag) =
            (&data[at.start - 12..at.start], &data[at.clone()], &data[at.end..][..self.tag(module)]);
        let nonce = *nonce.first_chunk().expect("as many");
        let done = match tag {
            [] => key.run(Ctr::new(&first_counter(nonce), 0), (input, out)),
            _ => Tag::new(tag)
                .and_then(|tag| key.run(GcmDecrypt::new(&nonce.into(), &self.aad(column, module), &tag), (input, out))),
        };
        done.map_err(|error| match error {
            Error::Unauthenticated => column.wrong(module, |name| {
                AuthenticationError::new_err(format!(
                    "authentication failed for {name}: the key or aad_prefix is wrong, or the file was changed"
                ))
            }),
            error => of_runtime(error),
        })
    }

    /// Encrypts a module to its frame, under a random nonce.
    fn seal(&self, column: &Column, module: Module, plaintext: &[u8], frame: &mut [u8]) -> Result<(), Error> {
        let (key, mut nonce) = (&self.cipher(module).key().cipher, [0; 12]);
        getrandom::fill(&mut nonce)?;
        let length = (frame.len() - 4) as u32;
        let (head, rest) = frame.split_at_mut(HEAD);
        let (out, tag) = rest.split_at_mut(plaintext.len());
        head[..4].copy_from_slice(&length.to_le_bytes());
        head[4..].copy_from_slice(&nonce);
        if tag.is_empty() {
            return key.run(Ctr::new(&first_counter(nonce), 0), (plaintext, out));
        }
        let made = key.run(GcmEncrypt::new(&nonce.into(), &self.aad(column, module)), (plaintext, out))?;
        tag.copy_from_slice(made.as_bytes());
        Ok(())
    }
}

/// That of CTR (section 4.2.2).
fn first_counter(nonce: [u8; 12]) -> Counter {
    let mut block = [0; 16];
    block[..12].copy_from_slice(&nonce);
    block[15] = 1;
    Counter::new(CounterMode::Ctr128BE, block)
}

impl Module {
    fn is_header(self) -> bool {
        self.kind > DICTIONARY
    }

    fn header(self) -> Self {
        Self { kind: self.kind + HEADER, ..self }
    }
}

impl Column {
    /// Finds the pages in the file, and says how they will be in the new one.
    fn read(&mut self, data: &[u8], most: usize, checksums: bool) -> PyResult<()> {
        let (Range { start: mut at, end }, mut number) = (self.bytes.clone(), 0);
        for protection in [&self.opens, &self.seals].into_iter().flatten() {
            [&protection.0, &protection.1].into_iter().try_for_each(|cipher| cipher.get().key().opened.check())?;
        }
        let outside = || damaged("an offset or a size is not within the file".into());
        while at < end {
            let is_dictionary = at == self.bytes.start && self.dictionary_is_first;
            let mut module = Module { kind: if is_dictionary { DICTIONARY } else { DATA }, number };
            let of_all = number.max(self.column).max(self.row_group.try_into().unwrap_or(NO_NUMBER));
            if of_all >= NO_NUMBER && (self.opens.is_some() || self.seals.is_some()) {
                return Err(self.wrong(module.header(), |name| PyValueError::new_err(format!("{name} has no number"))));
            }
            let scratch;
            let (header, body) = if let Some(opens) = &self.opens {
                let frame = |at, module| {
                    let no_frame = |name| damaged(format!("the frame of {name} is cut or is none"));
                    opens.ciphertext(data, at, module).ok_or_else(|| self.wrong(module, no_frame))
                };
                let place = frame(at, module.header())?;
                let mut plaintext = filled(0, place.len()).map_err(no_memory)?;
                opens.open(self, module.header(), data, &place, &mut plaintext)?;
                scratch = plaintext;
                (Header::read(&scratch).map_err(damaged)?.0, frame(place.end + TAG, module)?)
            } else {
                let (header, size) = Header::read(data.get(at..).ok_or_else(outside)?).map_err(damaged)?;
                module.kind = if header.is_dictionary { DICTIONARY } else { DATA };
                if self.seals.is_some() && !(header.is_data() || header.is_dictionary && at == self.bytes.start) {
                    // Encrypted, readers would look for another module there.
                    let of_no_kind =
                        |name| damaged(format!("{name} is of another kind, or a dictionary after other pages"));
                    return Err(self.wrong(module, of_no_kind));
                }
                let bytes = usize::try_from(header.compressed).ok();
                let body_end = bytes.map(|bytes| at + size + bytes).filter(|end| *end <= data.len());
                (header, at + size..body_end.ok_or_else(outside)?)
            };
            let after = body.end + self.opens.as_ref().map_or(0, |opens| opens.tag(module));
            let overhead = |module| self.seals.as_ref().map_or(0, |seals| HEAD + seals.tag(module));
            let fits = |module, size: usize| {
                let what = format!("would have {size} bytes, and the format has room for {most}: write smaller pages");
                let refused = |name| PyValueError::new_err(format!("{name} {what}"));
                if size > most { Err(self.wrong(module, refused)) } else { Ok(()) }
            };
            let size = body.len() + overhead(module);
            fits(module, size)?;
            let written = match (&self.opens, &self.seals) {
                // As it is.
                (None, None) => collected(data[at..body.start].iter().copied()).map(|header| (header, None)),
                // A checksum is one of the bytes in the file: of ciphertext, which has a tag, none is made.
                (_, seals) => header.write(size as i32, checksums && header.has_checksum && seals.is_none()),
            };
            let (is_dictionary, uncompressed) = (header.is_dictionary, header.uncompressed.into());
            let (header, checksum) = written.map_err(no_memory)?;
            let header_size = header.len() + overhead(module.header());
            fits(module.header(), header_size)?;
            let (place, size) = (0, header_size + size);
            let page =
                Page { module, is_dictionary, at, body, header, checksum, uncompressed, place, header_size, size };
            append(&mut self.pages, [page]).map_err(no_memory)?;
            number += usize::from(module.kind == DATA);
            at = after;
        }
        let path = |py: Python<'_>| Ok::<_, PyErr>(self.python.bind(py).getattr("path")?.to_string());
        if at == end {
            Ok(())
        } else {
            Err(damaged(format!("the pages of column {} end within one", Python::attach(path)?)))
        }
    }

    /// Writes a page with its header.
    fn write(&self, data: &[u8], page: &Page, out: &mut [u8]) -> PyResult<()> {
        let (header, body) = out.split_at_mut(page.header_size);
        if let Some(seals) = &self.seals {
            let sealed = seals.seal(self, page.module.header(), &page.header, header);
            let sealed = sealed.and_then(|()| seals.seal(self, page.module, &data[page.body.clone()], body));
            return sealed.map_err(of_runtime);
        }
        header.copy_from_slice(&page.header);
        match &self.opens {
            Some(opens) => opens.open(self, page.module, data, &page.body, body)?,
            None => body.copy_from_slice(&data[page.body.clone()]),
        }
        Ok(())
    }

    /// The exception about a module, given its name; or that its numbers are ones that the format has no room for.
    fn wrong(&self, Module { kind, number }: Module, error: impl FnOnce(String) -> PyErr) -> PyErr {
        let name = |py: Python<'_>| Ok(self.python.bind(py).call_method1("module", (kind, number))?.to_string());
        Python::attach(name).map_or_else(|error: PyErr| error, error)
    }
}

/// The exception for a file that is none.
fn damaged(what: String) -> PyErr {
    let raised =
        |py: Python<'_>| Ok(PyErr::from_value(py.import("aes_bitslice._thrift")?.getattr("Damaged")?.call1((what,))?));
    Python::attach(raised).unwrap_or_else(|error: PyErr| error)
}

/// The engines of the ciphers of columns.
fn engines(columns: &[Column]) -> Vec<Arc<Opened>> {
    let protections = columns.iter().flat_map(|column| [&column.opens, &column.seals]).flatten();
    protections
        .flat_map(|Protection(one, other, ..)| [one, other].map(|cipher| cipher.get().key().opened.clone()))
        .collect()
}

/// Does `work` on all items by several threads, without the interpreter's lock, until Ctrl-C or an exception; of exceptions, that of the first item
/// that has one. Items with more bytes than `LONG`, which are beside each, come one after the other, as calls that all cores share; threads
/// that wait for a device are none of the library's. With few bytes in all, nothing looks for signals before the end. A panic makes the engines
/// unusable.
fn by_threads<T: Send>(
    py: Python<'_>,
    (engines, is_device): (&[Arc<Opened>], bool),
    bytes: usize,
    items: Vec<(usize, T)>,
    work: impl Fn(T) -> PyResult<()> + Sync,
) -> PyResult<()> {
    let (stop, is_over, first) = (Stop::new(), AtomicBool::new(false), Mutex::new(None::<(usize, PyErr)>));
    let one = |(n, (_, item))| {
        if !is_over.load(Ordering::Relaxed)
            && let Err(error) = stop.during(|| work(item))
        {
            is_over.store(true, Ordering::Relaxed);
            let mut first = first.lock().unwrap_or_else(PoisonError::into_inner);
            if first.as_ref().is_none_or(|(before, _)| n < *before) {
                *first = Some((n, error));
            }
        }
    };
    let items = items.into_iter().enumerate();
    let all = || match is_device {
        false => {
            let (long, short): (Vec<_>, Vec<_>) = items.partition(|(_, (bytes, _))| *bytes > LONG);
            long.into_iter().for_each(one);
            divided(short, one);
        }
        true => {
            let items = Mutex::new(items);
            let next = || items.lock().unwrap_or_else(PoisonError::into_inner).next();
            at_once(0..TO_DEVICE, |_| std::iter::from_fn(next).for_each(one));
        }
    };
    let mut looked = Ok(());
    let ended = || {
        is_over.store(true, Ordering::Relaxed);
        stop.now();
    };
    let done = match bytes {
        ..=LONG => py.detach(|| caught(all)),
        _ => watched(py, &mut looked, ended, || caught(all))?,
    };
    done.map_err(|what| {
        engines.iter().for_each(|opened| opened.poison(&what));
        panicked(&what)
    })?;
    looked.and_then(|()| signals::check(py))?;
    first.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), |(_, error)| Err(error))
}
