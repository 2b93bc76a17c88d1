//! Options of the sectors that XTS takes.

use clap::Args;

use super::numbers::{parse_sector, parse_sector_size};
use crate::modes::mode::Sectors;

/// Sectors, as disks have them: data units of XTS.
#[derive(Args, Debug)]
pub struct SectorArgs {
    /// Bytes of a sector, for xts [default: 512]
    ///
    /// From 16 to 16MiB. The last sector of an input may be shorter, down to 16 bytes.
    #[arg(long, value_name = "N", value_parser = parse_sector_size)]
    pub sector_size: Option<u64>,
    /// Number of the first sector, for xts [default: 0]
    ///
    /// Numbers count up from there. For a disk, the position of the input's first byte divided by the sector size.
    #[arg(long, value_name = "N", value_parser = parse_sector)]
    pub first_sector: Option<u128>,
}

impl SectorArgs {
    /// Whether one of them was given.
    pub fn are_given(&self) -> bool {
        self.sector_size.is_some() || self.first_sector.is_some()
    }

    /// The given values, and defaults for the others.
    pub fn sectors(&self) -> Sectors {
        let Sectors { bytes, first } = Sectors::DEFAULT;
        Sectors { bytes: self.sector_size.unwrap_or(bytes), first: self.first_sector.unwrap_or(first) }
    }
}
