//! The stand-in, as this process has loaded it in place of the driver.

use aes_bitslice_runtime::cuda::cudarc::driver::sys::culib;
use std::ffi::{CStr, c_char};

/// A driver call that fails, or takes long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// It reports that a value is not valid.
    InvalidValue,
    /// It reports too little memory.
    OutOfMemory,
    /// It reports that a launch has failed, and all calls in the context fail from now on.
    LaunchFailed,
    /// It is a launch that fails when it completes, and all calls in the context fail from then on.
    LaunchFailsLate,
    /// It fails as [`InvalidValue`](Self::InvalidValue), and so do all later calls of its name.
    Lasting,
    /// It fails as [`InvalidValue`](Self::InvalidValue), and so do all later calls in its context.
    LastingThere,
    /// It returns this error.
    Returned(DriverCode),
    /// It is a launch that fails with this error when it completes.
    Late(DriverCode),
    /// It takes this long, in milliseconds, and does not fail.
    Stall(u32),
}

/// An error of the driver, by its number, and whether it makes the context unusable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DriverCode {
    pub number: u32,
    pub is_fatal: bool,
}

/// All errors of the driver.
pub fn errors() -> impl Iterator<Item = DriverCode> {
    let error = function::<extern "C" fn(usize) -> u32>("stand_in_error");
    let of = |code: u32| DriverCode { number: code & !(1 << 31), is_fatal: code >> 31 == 1 };
    (0..).map(move |n| error(n)).take_while(|&code| code != 0).map(of)
}

impl Fault {
    /// Whether the context cannot be used after it.
    pub fn is_fatal(self) -> bool {
        match self {
            Self::LaunchFailed | Self::LaunchFailsLate => true,
            Self::Returned(code) | Self::Late(code) => code.is_fatal,
            Self::InvalidValue | Self::OutOfMemory | Self::Lasting | Self::LastingThere | Self::Stall(_) => false,
        }
    }
}

/// The function of the stand-in with this name.
fn function<F: Copy>(name: &str) -> F {
    // SAFETY: the library is loaded; each use gives the function's type.
    unsafe { *culib().get::<F>(name.as_bytes()).expect("the stand-in in place of the driver") }
}

/// The simulated machine.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    pub devices: u32,
    /// How many consecutive devices can have access to each other's memory.
    pub peers: u32,
    /// Their compute capability: 80 for `sm_80`.
    pub architecture: u32,
    /// Whether work runs at once.
    pub at_once: bool,
}

/// Chooses the machine.
pub fn configure(machine: Machine) {
    let Machine { devices, peers, architecture, at_once } = machine;
    function::<extern "C" fn(u32, u32, u32, u32)>("stand_in_configure")(devices, architecture, at_once.into(), peers);
}

/// Makes every launch on a device take this long from now on, in milliseconds.
pub fn is_slow(device: u32, milliseconds: u32) {
    function::<extern "C" fn(u32, u32)>("stand_in_is_slow")(device, milliseconds);
}

/// Makes a device report, when it is opened, that it is so fast that others are negligible.
pub fn is_fast(device: u32) {
    function::<extern "C" fn(u32)>("stand_in_is_fast")(device);
}

/// The number of launches on each of some devices.
pub fn launches(devices: u32) -> Vec<u64> {
    let of = function::<extern "C" fn(u32) -> u64>("stand_in_launches");
    (0..devices).map(|device| of(device)).collect()
}

/// The device in whose context the call was made that failed, or took long; `None` if it was made in none.
pub fn failed_on() -> Option<u32> {
    u32::try_from(function::<extern "C" fn() -> i32>("stand_in_failed_on")()).ok()
}

/// Makes the call of this number fail, from now on and from 0.
pub fn fails(call: u64, fault: Fault) {
    let (code, late, lasting, milliseconds) = match fault {
        Fault::InvalidValue => (1, 0, 0, 0),
        Fault::OutOfMemory => (2, 0, 0, 0),
        Fault::LaunchFailed => (719, 0, 0, 0),
        Fault::LaunchFailsLate => (719, 1, 0, 0),
        Fault::Lasting => (1, 0, 1, 0),
        Fault::LastingThere => (1, 0, 2, 0),
        Fault::Returned(code) => (code.number, 0, 0, 0),
        Fault::Late(code) => (code.number, 1, 0, 0),
        Fault::Stall(milliseconds) => (0, 0, 0, milliseconds),
    };
    function::<extern "C" fn(u64, u32, u32, u32, u32)>("stand_in_fails")(call, code, late, lasting, milliseconds);
}

/// The number of objects that were created and not freed: memory, streams, events and modules.
pub fn held() -> u64 {
    function::<extern "C" fn() -> u64>("stand_in_held")()
}

/// The number of calls since [`fails`], which was given this number, and the one that failed, or took long: `None` if there were fewer
/// calls. None fails from now on.
pub fn result(number: u64) -> (u64, Option<&'static str>) {
    let calls = function::<extern "C" fn() -> u64>("stand_in_calls")();
    let name = function::<extern "C" fn() -> *const c_char>("stand_in_failed")();
    assert!(!name.is_null() || calls <= number, "of {calls} calls number {number} did not fail");
    // SAFETY: a text of the library, which stays.
    (calls, (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }.to_str().expect("a name")))
}

/// The violations of the driver's rules that were noted, in lines.
pub fn notes() -> String {
    text(0)
}

/// What was left when its context was released, in lines.
pub fn left() -> String {
    text(1)
}

/// What device memory and pinned memory hold when nothing is being done, in lines.
pub fn contents() -> String {
    text(2)
}

/// What memory held that went back to a pool since this was called, in lines.
pub fn to_pools() -> String {
    text(3)
}

fn text(which: u32) -> String {
    let mut room = vec![0_u8; 1 << 16];
    let write = function::<unsafe extern "C" fn(u32, *mut c_char, usize)>("stand_in_notes");
    // SAFETY: there is this much room.
    unsafe { write(which, room.as_mut_ptr().cast(), room.len()) };
    CStr::from_bytes_until_nul(&room).expect("a text").to_string_lossy().into_owned()
}

/// Resets it as in a new process.
pub fn begins_anew() {
    function::<extern "C" fn()>("stand_in_begins_anew")();
}
