//! The stored GHASH kernels: their descriptions match their sources; and their hashes equal the `ghash` crate's, as C11 on this
//! machine's processor, on a CUDA GPU, and on an OpenCL device.

use aes_bitslice_core::argument::Kind;
use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_core::entry::Entry;
use aes_bitslice_core::ghash::{Blocks, Shape, tables};
use aes_bitslice_core::manifest::ManifestError;
use aes_bitslice_core::manifest::{Hash, Manifest, Printed};
use aes_bitslice_core::signature::Parameter;
use aes_bitslice_gen::check::{CompiledHash, HashLaunch};
use aes_bitslice_gen::emit::{gcm, ghash as printer, header};
use aes_bitslice_gen::ghash::Ghash;
use aes_bitslice_gen::stored;
use aes_bitslice_kernels::{HASHES, OPENCL_HASHES};
use aes_bitslice_runtime::cuda::cudarc::driver::sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
use aes_bitslice_runtime::cuda::cudarc::driver::sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
use aes_bitslice_runtime::cuda::cudarc::driver::{DevicePtr, DevicePtrMut, LaunchConfig, PushKernelArg};
use aes_bitslice_runtime::cuda::cudarc::nvrtc::Ptx;
use aes_bitslice_runtime::opencl::opencl3::command_queue::CommandQueue;
use aes_bitslice_runtime::opencl::opencl3::kernel::{ExecuteKernel, Kernel};
use aes_bitslice_runtime::opencl::opencl3::memory::{Buffer, CL_MEM_READ_WRITE};
use aes_bitslice_runtime::opencl::opencl3::program::Program;
use aes_bitslice_runtime::opencl::opencl3::types::CL_TRUE;
use aes_bitslice_tests::engines::{Device, gpu, opencl};
use aes_bitslice_tests::environment::{all_or_every, say};
use aes_bitslice_tests::harness::{Need, Tests};
use aes_bitslice_tests::reference::noise;
use aes_bitslice_tests::refused;
use aes_bitslice_tests::tests;
use ghash::GHash;
use ghash::universal_hash::UniversalHash;
use polyval::Polyval;
use std::process::ExitCode;
use std::ptr;

fn main() -> ExitCode {
    Tests::default()
        .with(&[], tests![manifests_are_of_their_sources, stored_kernels_are_up_to_date, on_the_processor])
        .with(&[Need::Device(Device::CUDA[0])], tests![on_a_gpu])
        .alone(&[Need::Device(Device::OpenCl)], &[], tests![on_opencl])
        .run()
}

/// Source and manifest of every stored kernel.
fn stored() -> Vec<(Dialect, &'static str, Manifest<Hash>)> {
    let cuda = HASHES.iter().map(|stored| (Dialect::Cuda, stored.name, stored.source, stored.manifest));
    let opencl = OPENCL_HASHES.iter().map(|stored| (Dialect::OpenCl, stored.name, stored.source, stored.manifest));
    let parse = |(dialect, name, source, json): (_, &str, _, &str)| {
        let manifest = Manifest::<Hash>::parse(json).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!((manifest.dialect, manifest.kernel.as_str()), (dialect, name));
        assert_eq!(manifest.to_json(), json);
        (dialect, source, manifest)
    };
    cuda.chain(opencl).map(parse).collect()
}

/// Those that hash alone; the kernel of GCM in one launch has the tests of GCM, and of the generator.
fn stored_to_hash() -> impl Iterator<Item = (Dialect, &'static str, Manifest<Hash>)> {
    stored().into_iter().filter(|(_, _, manifest)| manifest.key_basis.is_none())
}

fn manifests_are_of_their_sources() {
    for (_, source, manifest) in stored_to_hash() {
        manifest.check_source(source).unwrap();
        // Any other source, and one with other parameters.
        refused!(manifest.check_source(&format!("{source} ")), ManifestError::Field { field: "source_sha256", .. });
        let refused = manifest.check_source(&source.replace("u64 length, IN_GLOBAL", "IN_GLOBAL"));
        assert!(matches!(refused, Err(ManifestError::Field { field: "hash", .. })), "{refused:?}");
        let refused = manifest.check_source(&source.replace("u64 length, IN_GLOBAL", "u32 length, IN_GLOBAL"));
        assert!(matches!(refused, Err(ManifestError::Signature(_))), "{refused:?}");
        let wrong = |change: &dyn Fn(&mut Manifest<Hash>)| {
            let mut manifest = manifest.clone();
            change(&mut manifest);
            let refused = Manifest::<Hash>::parse(&manifest.to_json());
            let Err(ManifestError::Field { field, .. }) = refused else { panic!("{refused:?}") };
            field
        };
        let other = Manifest { format: 5, ..manifest.clone() };
        refused!(Manifest::<Hash>::parse(&other.to_json()), ManifestError::Format(5));
        assert_eq!(wrong(&|m| m.source = "../x.cu".into()), "source");
        assert_eq!(wrong(&|m| m.function.shape.rows = 12), "shape");
        assert_eq!(wrong(&|m| m.threads = 100), "threads");
        assert_eq!(wrong(&|m| m.function.units_per_sm = 0), "units_per_sm");
        assert_eq!(wrong(&|m| m.secret = true), "secret");
        assert_eq!(wrong(&|m| m.kernel += "-other"), "hash");
        // A launch finds its values by name, and has a value for each of these and no other.
        let mut other = manifest.clone();
        other.entries.get_mut(&Entry::HashBytes).unwrap().parameters.swap(0, 1);
        Manifest::<Hash>::parse(&other.to_json()).unwrap();
        for &entry in manifest.entries.keys() {
            fn parameters(m: &mut Manifest<Hash>, entry: Entry) -> &mut Vec<Parameter> {
                &mut m.entries.get_mut(&entry).unwrap().parameters
            }
            for n in 0..manifest.entries[&entry].parameters.len() {
                assert_eq!(wrong(&|m| _ = parameters(m, entry).remove(n)), entry.name());
                assert_eq!(wrong(&|m| parameters(m, entry)[n].kind = Kind::Words(3)), entry.name());
                assert_eq!(
                    wrong(&|m| {
                        let twice = parameters(m, entry)[n].clone();
                        parameters(m, entry).push(twice);
                    }),
                    entry.name()
                );
            }
            let others = ["message_shape", entry.name()];
            assert!(others.contains(&wrong(&|m| _ = m.entries.remove(&entry))), "{entry}");
        }
        assert_eq!(
            wrong(&|m| m.dialect = if m.dialect == Dialect::Cuda { Dialect::OpenCl } else { Dialect::Cuda }),
            "compute_capability"
        );
    }
}

/// The stored kernels equal those printed now, without edits.
fn stored_kernels_are_up_to_date() {
    let print = |kernels: Vec<Ghash>, dialect| {
        let one = move |kernel| printer::print(kernel, dialect, "cargo xtask gen").expect("a kernel that there is");
        kernels.into_iter().map(one)
    };
    let cuda = print(stored::cuda_hashes(), Dialect::Cuda).chain([gcm::print("cargo xtask gen")]);
    let printed: Vec<Printed<Hash>> = cuda.chain(print(stored::opencl_hashes(), Dialect::OpenCl)).collect();
    let stored = stored();
    assert_eq!(stored.len(), printed.len());
    for ((_, source, manifest), printed) in stored.iter().zip(printed) {
        assert!(header::is_intact(source), "{} was edited", manifest.kernel);
        assert!(*source == *printed.source, "{} is stale: run `cargo xtask gen`", manifest.kernel);
        assert_eq!(*manifest, printed.manifest);
    }
}

/// A launch, and its result according to the crates `ghash` and `polyval`.
struct Case {
    blocks: Blocks,
    key: [u8; 16],
    units: u32,
    data: Vec<u8>,
    offset: Option<usize>,
    factor: [u8; 16],
    addend: [u8; 16],
    before: [u8; 16],
}

impl Case {
    fn new(units: u32, length: usize, offset: Option<usize>) -> Self {
        let data = noise(length as u64, length);
        let [key, factor, addend, before] =
            [1, 2, 3, 4].map(|seed| noise(seed + length as u64, 16).try_into().unwrap());
        let blocks = Blocks::ALL[length / 16 % 2];
        Self { blocks, key, units, data, offset, factor, addend, before }
    }

    fn expected(&self) -> [u8; 16] {
        let hash = |key: &[u8; 16], data: &[u8]| -> [u8; 16] {
            let mut hash = GHash::new(key.into());
            hash.update_padded(data);
            hash.finalize().into()
        };
        let hash_of_data = match self.blocks {
            Blocks::AsTheyAre => hash(&self.key, &self.data),
            Blocks::Reversed => {
                let mut polyval = Polyval::new((&self.key).into());
                polyval.update_padded(&self.data);
                self.blocks.block(polyval.finalize().into())
            }
        };
        // One block's hash is its product with the key.
        let product = hash(&self.factor, &hash_of_data);
        std::array::from_fn(|i| product[i] ^ self.addend[i] ^ self.before[i])
    }

    fn tables(&self, shape: &Shape) -> Vec<u32> {
        tables(self.blocks, self.blocks.key(self.key), shape, self.units).to_vec()
    }

    fn thread_blocks(&self, shape: &Shape) -> u32 {
        shape.tiles(self.data.len() as u64).clamp(1, self.units.into()) as u32
    }

    fn describe(&self, manifest: &Manifest<Hash>) -> String {
        let Self { blocks, data, offset, units, .. } = self;
        format!("{}: {} bytes at {offset:?}, {units} units, blocks {blocks:?}", manifest.kernel, data.len())
    }
}

/// Lengths around blocks, rows, tiles, and the tiles of all units.
fn cases(shape: &Shape, units: u32, most: usize) -> Vec<Case> {
    let tile = 16 * shape.tile_blocks() as usize;
    let all = tile * units as usize;
    let around = [16, 112, 128, 1008, 1024, tile, 2 * tile, all, 2 * all].map(|n| [n - 16, n - 1, n, n + 1, n + 16]);
    let random = (0..8_usize).map(|i| (i * i * 7919 + 13) * 1009 % (6 * all));
    let lengths = around.into_iter().flatten().chain(random).filter(|&length| length <= most);
    let each = |(i, length): (usize, usize)| Case::new(units, length, if i % 3 == 2 { Some(i % 16) } else { None });
    lengths.enumerate().map(each).collect()
}

fn on_the_processor() {
    for (dialect, source, manifest) in stored_to_hash() {
        if dialect != Dialect::Cuda {
            continue;
        }
        let Some(mut kernel) = CompiledHash::compile(source, &manifest).unwrap() else {
            return say("NO C COMPILER: PRINTED KERNELS WERE NOT RUN");
        };
        let tile = 16 * manifest.shape.tile_blocks() as usize;
        for case in all_or_every(5, cases(&manifest.shape, 2, 12 * tile)) {
            let Case { blocks, key, units, ref data, offset, factor, addend, before } = case;
            let launch = HashLaunch { blocks, key: blocks.key(key), units, data, offset, factor, addend, before };
            assert_eq!(kernel.run(&launch).unwrap(), case.expected(), "{}", case.describe(&manifest));
        }
    }
}

fn on_a_gpu() {
    let context = gpu().cuda_context().unwrap();
    let stream = context.new_stream().unwrap();
    let (major, minor) = context.compute_capability().unwrap();
    let capability = (10 * major + minor) as u32;
    let multiprocessors = context.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT).unwrap() as u32;
    let mut ran = 0;
    for stored in HASHES {
        let manifest = Manifest::<Hash>::parse(stored.manifest).unwrap();
        if manifest.key_basis.is_some() || !manifest.compute_capability.expect("of CUDA").contains(capability) {
            continue;
        }
        let is_ours = |arch: &str| arch == format!("sm_{capability}") || arch == format!("sm_{capability}a");
        // An empty image stands for one that was never compiled.
        let sizes = stored.cubins.iter().map(|(_, cubin)| cubin.len()).chain(stored.ptx.map(str::len));
        assert!(sizes.min() > Some(0), "{} is not compiled: run `cargo xtask ptx`", stored.name);
        let image = match (stored.cubins.iter().find(|(arch, _)| is_ours(arch)), stored.ptx) {
            (Some((_, cubin)), _) => Ptx::from_binary(cubin.to_vec()),
            (None, Some(ptx)) => Ptx::from_src(ptx),
            (None, None) => panic!("{} has no image for {capability}", stored.name),
        };
        let module = context.load_module(image).unwrap();
        let entries = [Entry::Hash, Entry::HashBytes].map(|entry| &manifest.entries[&entry]).map(|entry| {
            let function = module.load_function(&entry.name).unwrap();
            let bytes = manifest.shared_bytes as i32;
            function.set_attribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes).unwrap();
            function
        });
        for units in [1, 3, multiprocessors * manifest.units_per_sm] {
            for case in cases(&manifest.shape, units, 64 << 20) {
                let offset = case.offset.unwrap_or(0);
                let data =
                    stream.clone_htod(&[vec![0xee; 16 + offset], case.data.clone(), vec![0xdd; 16]].concat()).unwrap();
                let tables = stream.clone_htod(&case.tables(&manifest.shape)).unwrap();
                let mut out = stream.clone_htod(&case.before).unwrap();
                {
                    let (pointer, _data) = data.device_ptr(&stream);
                    let (out, _out) = out.device_ptr_mut(&stream);
                    let pointer = pointer + 16 + offset as u64;
                    let (length, units) = (case.data.len() as u64, case.units);
                    let (factor, addend) = (u128::from_le_bytes(case.factor), u128::from_le_bytes(case.addend));
                    let mut launch = stream.launch_builder(&entries[usize::from(case.offset.is_some())]);
                    launch.arg(&pointer).arg(&length).arg(&tables).arg(&units).arg(&out).arg(&factor).arg(&addend);
                    let config = LaunchConfig {
                        grid_dim: (case.thread_blocks(&manifest.shape), 1, 1),
                        block_dim: (manifest.threads, 1, 1),
                        shared_mem_bytes: manifest.shared_bytes,
                    };
                    // SAFETY: as the manifest says; message, tables and output live until they are read below.
                    unsafe { launch.launch(config) }.unwrap();
                }
                assert_eq!(stream.clone_dtoh(&out).unwrap(), case.expected(), "{}", case.describe(&manifest));
            }
        }
        ran += 1;
    }
    assert!(ran > 0, "no kernel for compute capability {major}.{minor}");
}

fn on_opencl() {
    let context = opencl().opencl_context().unwrap();
    let queue = CommandQueue::create_default(context, 0).unwrap();
    let with = |bytes: &[u8]| {
        // SAFETY: no host memory is involved.
        let mut buffer =
            unsafe { Buffer::<u8>::create(context, CL_MEM_READ_WRITE, bytes.len(), ptr::null_mut()) }.unwrap();
        // SAFETY: waits until it completes.
        unsafe { queue.enqueue_write_buffer(&mut buffer, CL_TRUE, 0, bytes, &[]) }.unwrap();
        buffer
    };
    for stored in OPENCL_HASHES {
        let manifest = Manifest::<Hash>::parse(stored.manifest).unwrap();
        let program = Program::create_and_build_from_source(context, stored.source, "").unwrap();
        let entries = [Entry::Hash, Entry::HashBytes]
            .map(|entry| &manifest.entries[&entry])
            .map(|entry| Kernel::create(&program, &entry.name).unwrap());
        for units in [1, 3] {
            for case in cases(&manifest.shape, units, 1 << 16) {
                // Of 16 bytes with the first entry point, of one with the other.
                let (unit, before_data) = (if case.offset.is_some() { 1 } else { 16 }, 32 + case.offset.unwrap_or(0));
                let data = with(&[vec![0xee; before_data], case.data.clone(), vec![0xdd; 16]].concat());
                let tables =
                    with(&case.tables(&manifest.shape).iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>());
                let out = with(&[vec![0x11; 8], case.before.to_vec(), vec![0x22; 8]].concat());
                let (in_at, out_at) = ((before_data / unit) as u64, 2_u64);
                let mut launch = ExecuteKernel::new(&entries[usize::from(case.offset.is_some())]);
                // SAFETY: as the manifest says, a buffer with an offset for input and output each.
                unsafe {
                    launch.set_arg(&data).set_arg(&in_at).set_arg(&(case.data.len() as u64)).set_arg(&tables);
                    launch
                        .set_arg(&case.units)
                        .set_arg(&out)
                        .set_arg(&out_at)
                        .set_arg(&case.factor)
                        .set_arg(&case.addend);
                }
                let threads = manifest.threads as usize;
                launch
                    .set_local_work_size(threads)
                    .set_global_work_size(threads * case.thread_blocks(&manifest.shape) as usize);
                // SAFETY: all buffers live until the output was read.
                unsafe { launch.enqueue_nd_range(&queue) }.unwrap();
                let mut bytes = vec![0; 32];
                // SAFETY: waits until it completes.
                unsafe { queue.enqueue_read_buffer(&out, CL_TRUE, 0, &mut bytes, &[]) }.unwrap();
                let expected = [vec![0x11; 8], case.expected().to_vec(), vec![0x22; 8]].concat();
                assert_eq!(bytes, expected, "{}", case.describe(&manifest));
            }
        }
    }
}
