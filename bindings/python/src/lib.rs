//! The native module of the Python package `aes_bitslice`: keys, engines and ciphers of `aes-bitslice-runtime`, sealed files of
//! `aes-bitslice-seal`.
//!
//! | file | idea |
//! |---|---|
//! | `error` | exceptions; panics stop here |
//! | `driver` | the CUDA driver: contexts of threads, streams, the device of memory |
//! | `fork` | what a forked process may still use |
//! | `buffer` | the buffer protocol, from Python 3.10 on |
//! | `dlpack` | tensors that other libraries export through DLPack |
//! | `memory` | where an argument's bytes are: in host memory or on a GPU |
//! | `arrays` | questions to an array's library: a new array like it, its current stream |
//! | `operation` | an operation as a value: how it is made, and its classes |
//! | `run` | a call of an operation: on host memory, and on GPU memory |
//! | `call` | one call on host memory, watched for signals |
//! | `device` | one call on GPU memory, on a stream |
//! | `outcome` | the result of a call besides the bytes that it writes: at once, or when a stream has reached it |
//! | `opened` | an opened engine, which ciphers and files share |
//! | `loaded_key` | a key loaded on an engine |
//! | `documented` | texts about parameters that many calls have |
//! | `key`, `engine`, `cipher` | the classes |
//! | `batch` | how a call's many messages are given: their ranges, nonces, additional data, tags |
//! | `many_keys` | calls under many keys, which take an engine, not a cipher |
//! | `layout` | calls under many keys that are on a GPU, at places that were described there |
//! | `patient` | files that may stay silent: waiting for them looks for signals |
//! | `files` | sealing and opening files |
//! | `new_file` | files that are made: complete or absent, and no more open than their source |
//! | `output` | files that the package's Python code makes |
//! | `at_exit` | when Python ends: calls of what it drops, and files that are not complete |
//! | `sealed_file` | the message of a sealed file, read at any position or written bit by bit |
//! | `segments` | where a sealed file's segments are, and their cipher, for a program that decrypts them itself |
//! | `parquet_pages` | the pages of a Parquet file: decrypted, or encrypted |
//! | `page_header` | the header of such a page |
//! | `signals` | looking for Ctrl-C |
//! | `origin` | where the data of a file object comes from |
//! | `file_object` | Python's file objects as Rust readers, writers and seekers |
//!
//! The documentation for users is in the comments of what Python sees; types are in `python/aes_bitslice/_native.pyi`.
#![deny(unsafe_code)]

mod arrays;
#[allow(unsafe_code)]
mod at_exit;
mod batch;
#[allow(unsafe_code)]
mod buffer;
mod call;
mod cipher;
mod described;
#[allow(unsafe_code)]
mod device;
#[allow(unsafe_code)]
mod dlpack;
mod documented;
#[allow(unsafe_code)]
mod driver;
mod engine;
mod error;
mod file_object;
mod files;
mod fork;
mod gcm_jobs;
mod key;
mod layout;
mod loaded_key;
mod many_keys;
#[allow(unsafe_code)]
mod memory;
mod new_file;
mod number;
mod opened;
mod operation;
mod origin;
mod outcome;
mod output;
mod page_header;
mod parquet_pages;
mod patient;
mod run;
mod sealed_file;
mod segments;
mod signals;

/// The module, as Python imports it.
#[pyo3::pymodule(gil_used = true)]
mod _native {
    use pyo3::prelude::*;
    use pyo3::types::PyTuple;

    #[pymodule_export]
    use crate::batch::{CountedNonces, Ranges};
    #[pymodule_export]
    use crate::cipher::Cipher;
    #[pymodule_export]
    use crate::described::check_fault;
    #[pymodule_export]
    use crate::engine::{Engine, HostMemory, engines, set_threads, threads};
    #[pymodule_export]
    use crate::error::{AuthenticationError, DeviceError, Error, UnavailableError};
    #[pymodule_export]
    use crate::files::{FileSecret, bytes_of, is_sealed, open, seal};
    #[pymodule_export]
    use crate::fork::forked;
    #[pymodule_export]
    use crate::key::{Key, random_bytes};
    #[pymodule_export]
    use crate::layout::{GcmJobLayout, JobLayout};
    #[pymodule_export]
    use crate::new_file::{open_like, refuse_open};
    #[pymodule_export]
    use crate::operation::{
        CbcDecrypt, CbcEncrypt, Cmac, CmacBatch, CmacVerifyBatch, Ctr, EcbDecrypt, EcbEncrypt, GcmDecrypt,
        GcmDecryptBatch, GcmEncrypt, GcmEncryptBatch, GcmEncryptWithRandomNonce, GcmSivDecrypt, GcmSivEncrypt, Gmac,
        Keystream, Operation, Prg, XaesDecrypt, XaesEncrypt, XtsDecrypt, XtsEncrypt,
    };
    #[pymodule_export]
    use crate::origin::descriptor_of;
    #[pymodule_export]
    use crate::outcome::DeviceTag;
    #[pymodule_export]
    use crate::output::Output;
    #[pymodule_export]
    use crate::parquet_pages::ParquetPages;
    #[pymodule_export]
    use crate::sealed_file::{SealedReader, SealedWriter};
    #[pymodule_export]
    use crate::segments::SealedSegments;
    #[pymodule_export]
    use crate::signals::interrupt_at;
    /// For one message, `failed` is empty.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let py = module.py();
        crate::at_exit::register()?;
        crate::file_object::import_classes(py)?;
        py.get_type::<AuthenticationError>().setattr("failed", PyTuple::empty(py))
    }

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
