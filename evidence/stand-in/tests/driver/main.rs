//! The CUDA engine on the stand-in for the driver: the results of all calls on data, on the host and on the device; what they leave; and
//! the outcome of a call in which a driver call fails, or takes long. Each test is a process of its own, which finds the stand-in where
//! it looks for the driver.

#[cfg(target_os = "linux")]
mod bench;
#[cfg(target_os = "linux")]
mod cases;
#[cfg(target_os = "linux")]
mod from_c;
#[cfg(target_os = "linux")]
mod notes;
#[cfg(target_os = "linux")]
mod pairs;
#[cfg(target_os = "linux")]
mod several;
#[cfg(target_os = "linux")]
mod stand_in;
#[cfg(target_os = "linux")]
mod trials;

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    trials::main()
}
