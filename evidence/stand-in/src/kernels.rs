//! Stored kernels as libraries, and their launches.

use aes_bitslice_core::argument::{Argument, Kind};
use aes_bitslice_core::signature::EntryPoint;
use aes_bitslice_gen::check::library;
use cudarc::driver::sys::CUresult;
use libloading::Library;
use std::collections::HashMap;
use std::ffi::{CStr, c_void};
use std::path::Path;
use std::slice;

/// The folder of the libraries of kernels.
const FOLDER: &str = "AES_BITSLICE_STAND_IN_FOLDER";

/// The function `launch` of a [`library`].
type Launch = unsafe extern "C" fn(u32, u32, u32, *const *const c_void) -> i32;

/// A loaded kernel.
pub(crate) struct Loaded {
    name: &'static str,
    entries: Vec<EntryPoint>,
    launch: Launch,
    /// It stays loaded: threads of the kernel have stacks that nothing else knows of.
    _library: Library,
}

/// All loaded kernels, by name.
#[derive(Default)]
pub(crate) struct Kernels(HashMap<&'static str, &'static Loaded>);

/// Arguments of a launch: a copy of each, aligned for every type.
pub(crate) struct Arguments(Vec<Vec<u128>>);

impl Kernels {
    /// The stored kernel with this image.
    ///
    /// # Safety
    /// It is PTX that ends with a NUL, or machine code.
    pub(crate) unsafe fn load(&mut self, image: *const c_void) -> Result<&'static Loaded, CUresult> {
        // SAFETY: as the caller guarantees.
        let (name, source) = unsafe { find(image) }.ok_or(CUresult::CUDA_ERROR_INVALID_IMAGE)?;
        if let Some(loaded) = self.0.get(name) {
            return Ok(loaded);
        }
        let loaded: &'static Loaded = Box::leak(Box::new(Loaded::new(name, source)));
        self.0.insert(name, loaded);
        Ok(loaded)
    }
}

/// Name and source of the stored kernel with this image.
///
/// # Safety
/// The image is PTX that ends with a NUL, or machine code.
unsafe fn find(image: *const c_void) -> Option<(&'static str, &'static str)> {
    use aes_bitslice_kernels::{HASHES, KERNELS};
    // SAFETY: either has more bytes than these.
    let is_machine_code = unsafe { slice::from_raw_parts(image.cast::<u8>(), 4) } == b"\x7fELF";
    // SAFETY: PTX ends with a NUL; a header of machine code says where it ends.
    let bytes = unsafe {
        if is_machine_code {
            slice::from_raw_parts(image.cast(), length_of_elf(slice::from_raw_parts(image.cast(), 64)))
        } else {
            CStr::from_ptr(image.cast()).to_bytes()
        }
    };
    let is_it = |ptx: &str, cubins: &[(&str, &[u8])]| {
        if is_machine_code { cubins.iter().any(|(_, code)| *code == bytes) } else { ptx.as_bytes() == bytes }
    };
    let ciphers = KERNELS.iter().map(|k| (k.name, k.source, k.ptx, k.cubins));
    let hashes = HASHES.iter().map(|k| (k.name, k.source, k.ptx.unwrap_or_default(), k.cubins));
    ciphers.chain(hashes).find(|(_, _, ptx, cubins)| is_it(ptx, cubins)).map(|(name, source, ..)| (name, source))
}

/// Bytes of machine code, by its header: its tables, of sections and of segments, come last.
fn length_of_elf(header: &[u8]) -> usize {
    let number = |at: usize, bytes: usize| (0..bytes).fold(0, |sum, i| sum | usize::from(header[at + i]) << (8 * i));
    let (segments, sections) = (number(0x20, 8), number(0x28, 8));
    (segments + number(0x36, 2) * number(0x38, 2)).max(sections + number(0x3a, 2) * number(0x3c, 2))
}

impl Loaded {
    fn new(name: &'static str, source: &str) -> Self {
        let names =
            source.lines().filter_map(|line| line.strip_prefix("KERNEL ")?.split_once('(')).map(|(name, _)| name);
        let entries: Vec<EntryPoint> =
            names.map(|name| EntryPoint::read(source, name).expect("a source of this project")).collect();
        let folder = std::env::var_os(FOLDER).expect("the test says where libraries are kept");
        let library = library(name, source, &entries, Path::new(&folder)).expect("a kernel that compiles");
        // SAFETY: a library of this project, which does nothing when it is loaded.
        let library =
            unsafe { Library::new(library.expect("a C compiler, as the test has found")) }.expect("a library");
        // SAFETY: it has this function.
        let launch = *unsafe { library.get::<Launch>(b"launch\0") }.expect("a library of a kernel");
        Self { name, entries, launch, _library: library }
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// The number of an entry point.
    pub(crate) fn entry(&self, name: &str) -> Option<usize> {
        self.entries.iter().position(|entry| entry.name == name)
    }

    /// Copies the arguments of a launch of an entry point.
    ///
    /// # Safety
    /// There is a pointer to each of its arguments.
    pub(crate) unsafe fn arguments(&self, entry: usize, pointers: *const *const c_void) -> Arguments {
        let copy = |(i, bytes): (usize, usize)| {
            let mut value = vec![0_u128; bytes.div_ceil(16)];
            // SAFETY: as the caller guarantees; there is room for that many bytes.
            unsafe { std::ptr::copy_nonoverlapping((*pointers.add(i)).cast(), value.as_mut_ptr().cast::<u8>(), bytes) };
            value
        };
        let parameters = &self.entries[entry].parameters;
        Arguments(parameters.iter().map(|parameter| parameter.kind.cuda_bytes()).enumerate().map(copy).collect())
    }

    /// The addresses among the arguments that must be in memory.
    pub(crate) fn addresses<'a>(
        &'a self,
        entry: usize,
        arguments: &'a Arguments,
    ) -> impl Iterator<Item = (Argument, u64)> {
        let parameters = self.entries[entry].parameters.iter().zip(&arguments.0);
        // Where a pointer must point depends on the thread block.
        let of = |kind| matches!(kind, Kind::Input | Kind::Output | Kind::Buffer);
        parameters.filter(move |(of_it, _)| of(of_it.kind)).map(|(parameter, value)| (parameter.name, value[0] as u64))
    }

    /// Runs a grid; the error says what is wrong with it.
    ///
    /// # Safety
    /// All memory that it reads and writes exists, and nothing else writes to it.
    pub(crate) unsafe fn run(&self, entry: usize, grid: (u32, u32), arguments: &Arguments) -> Result<(), String> {
        let pointers: Vec<*const c_void> = arguments.0.iter().map(|value| value.as_ptr().cast()).collect();
        // SAFETY: as the caller guarantees; the entry point has that many arguments.
        let outcome = unsafe { (self.launch)(entry as u32, grid.0, grid.1, pointers.as_ptr()) };
        let name = &self.entries[entry].name;
        match outcome {
            0 => Ok(()),
            1 => Err(format!("{name} has no {} thread blocks of {} threads", grid.0, grid.1)),
            _ => Err(format!("threads of {name} wait for others that do not come")),
        }
    }
}
