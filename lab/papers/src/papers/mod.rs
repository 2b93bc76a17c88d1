//! What the papers printed, and the cases that reproduce their tables.
//!
//! Figures are the papers' own, each with its table; what they show in pictures only is not here. Rates are in Gbit/s, 10^9
//! bits a second, and sizes in the binary units that the papers write as KB and MB.
//!
//! | file | idea |
//! |---|---|
//! | `all` | all papers, and everything to measure of them |
//! | `iwai_2010`, ... | the figures and the cases of a paper |
//! | `paper` | what a paper is |
//! | `claim` | a paper's claim about its kernels, as a comparison |
//! | `extended` | CTR and work-groups of Ul Haq et al. 2011, which are measured apart |
//! | `key_stream` | section 5 of Hajihassani et al. 2019, which is measured apart |
//! | `layers` | section 6.2 of Hajihassani et al. 2019, which is measured apart |
//! | `several_gpus` | section 6.6 of Hajihassani et al. 2019, which needs its own machine |

pub mod abdelrahman_2017;
pub mod all;
pub mod claim;
pub mod extended;
pub mod hajihassani_2019;
pub mod iwai_2010;
pub mod key_stream;
pub mod layers;
pub mod li_2012;
pub mod paper;
pub mod several_gpus;
pub mod ul_haq_2011;
