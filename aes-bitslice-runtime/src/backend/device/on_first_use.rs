//! What is loaded and tested once, on first use.

use crate::base::error::Error;
use crate::base::lock::lock;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Mutex;

/// Values by name, each made on first use.
pub(crate) struct OnFirstUse<K, V> {
    made: Mutex<HashMap<K, V>>,
    /// Held while one is made. This cannot be the lock of `made`: a kernel's test waits for a slot, and a call that holds one launches
    /// kernels, and looks there.
    making: Mutex<()>,
}

impl<K, V> Default for OnFirstUse<K, V> {
    fn default() -> Self {
        Self { made: Mutex::default(), making: Mutex::default() }
    }
}

impl<K: Eq + Hash, V: Clone> OnFirstUse<K, V> {
    /// The value of this name, made now if it is not there.
    ///
    /// # Errors
    /// Those of `make`, which is asked again next time.
    pub(crate) fn get(&self, name: K, make: impl FnOnce() -> Result<V, Error>) -> Result<V, Error> {
        let made = || lock(&self.made).get(&name).cloned();
        if let Some(value) = made() {
            return Ok(value);
        }
        let _making = lock(&self.making);
        if let Some(value) = made() {
            return Ok(value);
        }
        let value = make()?;
        lock(&self.made).insert(name, value.clone());
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_made_once_and_what_failed_is_asked_for_again() {
        let values = OnFirstUse::<u32, u32>::default();
        let fails = || Err(Error::NoSuchKernel { what: "not yet".into() });
        assert!(values.get(1, fails).is_err());
        assert_eq!(values.get(1, || Ok(10)).unwrap(), 10);
        assert_eq!(values.get(1, fails).unwrap(), 10);
        assert_eq!(values.get(2, || values.get(1, fails)).unwrap(), 10, "what is there is found while another is made");
    }
}
