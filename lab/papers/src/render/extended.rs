//! What Ul Haq et al. 2011 say that their kernels can be extended to.

use crate::measured::{Kind, Run};
use crate::papers::extended::{BITSLICED, GROUPS, MODES, PAPER, SIZES, by_bytes, group_name, mode_name};
use crate::papers::ul_haq_2011::{KEY_BITS, LARGEST};
use crate::render::page::{Page, bold_if, least};
use crate::render::ul_haq_2011::{ms, ratio};
use aes_bitslice_core::mode::Mode;
use aes_bitslice_plot::size;

/// The section; without a run, what it takes to have one.
pub fn render<'a>(page: &mut Page<'a>, run: Option<&'a Run>) {
    page.say("### CTR by bytes, and work-groups of other sizes");
    let what = format!(
        "{}, keys of {} bits, which the host expands, milliseconds. The article has ECB and says that it can be easily extended to \
         CTR; here a work-item makes its counter block instead of reading one, and adds the result to its block byte by byte. \
         The article also says what it takes to run larger work-groups, but not how large its own are; in all other tables they \
         have 256 work-items.",
        size(LARGEST),
        KEY_BITS.bits()
    );
    let Some(run) = run else {
        page.say(&format!("{what} Not measured yet: this needs OpenCL on a GPU (`--paper {}`).", PAPER.name));
        return;
    };
    page.run = run;
    let gpu = run.opencl(Kind::Gpu).map_or("no GPU", |device| &device.name);
    page.say(&format!("{what} Measured on {gpu}, {}; the shortest time of a kernel is bold.", run.date));
    if run.failures().any(|(timing, why)| timing.table == GROUPS && why.contains("needs work-groups of")) {
        page.say(
            "NVIDIA's OpenCL driver allows these kernels work-groups of at most 256 work-items \
             (`CL_KERNEL_WORK_GROUP_SIZE`), so larger ones could not be measured; below is what it answers.",
        );
    }
    let mut rows = vec![vec!["kernel".to_string()]];
    rows[0].extend(SIZES.map(|size| format!("{size} work-items:")));
    for (name, _) in by_bytes() {
        let times = SIZES.map(|size| page.milliseconds(GROUPS, &group_name(name, size), LARGEST));
        let shortest = least(times);
        let shown = times.map(|time| bold_if(time.is_some() && time == shortest, ms(time)));
        rows.push([name.into()].into_iter().chain(shown).collect());
    }
    page.table(&rows);
    let mut rows = vec![["kernel", "ECB:", "CTR:", "CTR to ECB:"].map(String::from).to_vec()];
    for name in by_bytes().map(|(name, _)| name).into_iter().chain([BITSLICED]) {
        let modes = [Mode::EcbEncrypt, Mode::Ctr].map(|mode| page.milliseconds(MODES, &mode_name(name, mode), LARGEST));
        rows.push(vec![name.into(), ms(modes[0]), ms(modes[1]), ratio(modes[0], modes[1])]);
    }
    page.table(&rows);
}
