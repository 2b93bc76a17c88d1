//! The measurements, compared with the papers' figures: a page of Markdown and its plots. Nothing here knows of a GPU.
//!
//! | file | idea |
//! |---|---|
//! | `files` | every file that is rendered |
//! | `iwai_2010`, ... | the tables and plots of a paper |
//! | `extended` | CTR and work-groups of Ul Haq et al. 2011 |
//! | `key_stream` | section 5 of Hajihassani et al. 2019 |
//! | `layers` | section 6.2 of Hajihassani et al. 2019 |
//! | `several_gpus` | section 6.6 of Hajihassani et al. 2019 |
//! | `per_clock` | rates by clock and multiprocessor |
//! | `instructions` | what the main paper's kernel executes, and the rates that follow |
//! | `page` | text, tables, and notes on what is missing |

mod abdelrahman_2017;
mod extended;
pub mod files;
mod hajihassani_2019;
mod instructions;
mod iwai_2010;
mod key_stream;
mod layers;
mod li_2012;
#[cfg(test)]
pub mod made_up;
pub mod page;
mod per_clock;
mod several_gpus;
mod ul_haq_2011;
