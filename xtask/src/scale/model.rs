//! How long much data takes: it passes through stages at the same time, and the slowest of them is the limit.

use crate::scale::figures::Figures;

/// Where data begins and ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// The memory of the GPUs that encrypt it.
    GpuMemory,
    /// The memory of their hosts.
    HostMemory,
    /// A disk of each host.
    Disks,
    /// A store that all hosts reach through the network.
    Store,
}

impl Origin {
    pub const ALL: [Self; 4] = [Self::GpuMemory, Self::HostMemory, Self::Disks, Self::Store];

    pub fn name(self) -> &'static str {
        match self {
            Self::GpuMemory => "GPU memory",
            Self::HostMemory => "host memory",
            Self::Disks => "a disk of each host",
            Self::Store => "a store",
        }
    }
}

/// Values that were not measured here.
#[derive(Clone, Debug, PartialEq)]
pub struct Assumptions {
    /// GPUs of a host.
    pub gpus_per_host: u32,
    /// GB/s that a host's network carries in each direction.
    pub network: f64,
    /// GB/s that the store reads, and writes at the same time, for all hosts together.
    pub store: f64,
    /// Dollars for an hour of a GPU with its share of a host.
    pub gpu_hour: f64,
    /// Dollars for an hour of sixteen cores.
    pub cores_hour: f64,
    /// Watts of a GPU that waits.
    pub idle_watts: f64,
    /// Watts of sixteen cores that work, with their memory.
    pub cores_watts: f64,
}

/// The cost of some data.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub hosts: u32,
    /// GB/s of all together.
    pub rate: f64,
    /// The slowest stage.
    pub limit: &'static str,
    pub seconds: f64,
    pub joules: f64,
    pub dollars: f64,
}

/// `bytes` bytes on this many GPUs, with a kernel of this many GB/s.
pub fn gpus(figures: &Figures, assumed: &Assumptions, kernel: f64, from: Origin, gpus: u32, bytes: f64) -> Outcome {
    let hosts = gpus.div_ceil(assumed.gpus_per_host);
    let kernels = f64::from(gpus) * kernel;
    // Full hosts, and the remaining one.
    let (full, left) = (gpus / assumed.gpus_per_host, gpus % assumed.gpus_per_host);
    let links = f64::from(full) * figures.link(assumed.gpus_per_host) + figures.link(left);
    let mut stages = vec![("kernel", kernels)];
    if from != Origin::GpuMemory {
        stages.push(("link", links));
    }
    stages.extend(beyond_memory(figures, assumed, from, hosts));
    let (limit, rate) = slowest(&stages);
    let seconds = bytes / (rate * 1e9);
    let busy = bytes / (kernels * 1e9);
    let joules = f64::from(gpus) * (busy * figures.watts + (seconds - busy) * assumed.idle_watts);
    let dollars = f64::from(gpus) * seconds / 3600.0 * assumed.gpu_hour;
    Outcome { hosts, rate, limit, seconds, joules, dollars }
}

/// The same on this many machines of sixteen cores, and no GPU.
pub fn cores(figures: &Figures, assumed: &Assumptions, from: Origin, machines: u32, bytes: f64) -> Outcome {
    let mut stages = vec![("cores", f64::from(machines) * figures.cores)];
    stages.extend(beyond_memory(figures, assumed, from, machines));
    let (limit, rate) = slowest(&stages);
    let seconds = bytes / (rate * 1e9);
    let all = f64::from(machines);
    let dollars = all * seconds / 3600.0 * assumed.cores_hour;
    Outcome { hosts: machines, rate, limit, seconds, joules: all * seconds * assumed.cores_watts, dollars }
}

/// The stages beyond host memory.
fn beyond_memory(figures: &Figures, assumed: &Assumptions, from: Origin, hosts: u32) -> Vec<(&'static str, f64)> {
    let hosts = f64::from(hosts);
    match from {
        Origin::GpuMemory | Origin::HostMemory => vec![],
        Origin::Disks => vec![("disk", hosts * figures.disk)],
        Origin::Store => vec![("network", hosts * assumed.network), ("store", assumed.store)],
    }
}

fn slowest(stages: &[(&'static str, f64)]) -> (&'static str, f64) {
    *stages.iter().min_by(|a, b| a.1.total_cmp(&b.1)).expect("there is a kernel, or there are cores")
}

impl Figures {
    /// GB/s from host memory to host memory with this number of GPUs of one host: as measured, or as measured for the next smaller
    /// number.
    fn link(&self, gpus: u32) -> f64 {
        self.links.iter().rev().find(|(measured, _)| *measured <= gpus).map_or(0.0, |(_, rate)| *rate)
    }

    /// GB/s of a kernel by its name.
    pub fn kernel(&self, name: &str) -> Option<f64> {
        self.kernels.iter().find(|(kernel, _)| *kernel == name).map(|(_, rate)| *rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures() -> Figures {
        let links = [(1, 50.0), (2, 70.0), (4, 80.0)];
        Figures { kernels: vec![("ctr", 800.0)], links, cores: 40.0, disk: 2.0, watts: 600.0 }
    }

    const ASSUMED: Assumptions = Assumptions {
        gpus_per_host: 4,
        network: 25.0,
        store: 100.0,
        gpu_hour: 3.6,
        cores_hour: 0.36,
        idle_watts: 100.0,
        cores_watts: 200.0,
    };

    #[test]
    fn the_slowest_stage_is_the_limit() {
        let limit = |from, n| {
            let outcome = gpus(&figures(), &ASSUMED, 800.0, from, n, 1e12);
            (outcome.hosts, outcome.limit, outcome.rate)
        };
        assert_eq!(limit(Origin::GpuMemory, 1), (1, "kernel", 800.0));
        assert_eq!(limit(Origin::GpuMemory, 8), (2, "kernel", 6400.0));
        assert_eq!(limit(Origin::HostMemory, 1), (1, "link", 50.0));
        assert_eq!(limit(Origin::HostMemory, 3), (1, "link", 70.0));
        assert_eq!(limit(Origin::HostMemory, 5), (2, "link", 130.0));
        assert_eq!(limit(Origin::HostMemory, 8), (2, "link", 160.0));
        assert_eq!(limit(Origin::Disks, 8), (2, "disk", 4.0));
        assert_eq!(limit(Origin::Store, 8), (2, "network", 50.0));
        assert_eq!(limit(Origin::Store, 64), (16, "store", 100.0));
    }

    #[test]
    fn time_energy_and_money_follow_from_the_rate() {
        let outcome = gpus(&figures(), &ASSUMED, 800.0, Origin::HostMemory, 8, 1.6e12);
        // 10 s at 160 GB/s; each GPU's kernels are busy for a quarter of a second of that.
        assert_eq!(outcome.seconds, 10.0);
        assert!((outcome.joules - 8.0 * (0.25 * 600.0 + 9.75 * 100.0)).abs() < 1e-6);
        assert!((outcome.dollars - 8.0 * 0.01).abs() < 1e-9);
        let outcome = cores(&figures(), &ASSUMED, Origin::HostMemory, 4, 1.6e12);
        assert_eq!((outcome.seconds, outcome.joules, outcome.limit), (10.0, 8000.0, "cores"));
        assert!((outcome.dollars - 4.0 * 0.001).abs() < 1e-9);
        assert_eq!(cores(&figures(), &ASSUMED, Origin::Disks, 4, 1.6e12).limit, "disk");
    }
}
