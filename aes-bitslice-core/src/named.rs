//! Values with names, as written and read on command lines, in file names and in manifests.

/// An unknown name; the message lists the known ones.
#[derive(Debug, PartialEq, Eq)]
pub struct UnknownName {
    what: &'static str,
    name: String,
    known: String,
}

impl UnknownName {
    /// Creates the error for a name that is not in `known`; `what` says what it should name.
    pub fn new(what: &'static str, name: &str, known: &[&str]) -> Self {
        Self { what, name: name.into(), known: known.join(", ") }
    }
}

impl std::fmt::Display for UnknownName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { what, name, known } = self;
        write!(f, "unknown {what} `{name}`; known: {known}")
    }
}

impl std::error::Error for UnknownName {}

/// Implements `Display` and `FromStr` for a type that has a constant `ALL` and a method `name`. The second argument says what
/// the type is, for the error [`UnknownName`].
#[macro_export]
macro_rules! named {
    ($type:ty, $what:literal) => {
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::named::UnknownName;
            fn from_str(name: &str) -> Result<Self, Self::Err> {
                Self::ALL
                    .into_iter()
                    .find(|v| v.name() == name)
                    .ok_or_else(|| $crate::named::UnknownName::new($what, name, &Self::ALL.map(Self::name)))
            }
        }
    };
}

/// Declares an enum of things with names, which manifests have, too: the names are in one place. The literal after the type says what
/// the type is, for the error [`UnknownName`].
macro_rules! named_enum {
    ($(#[$of_type:meta])* $type:ident, $what:literal { $($(#[$doc:meta])* $variant:ident = $name:literal,)* }) => {
        $(#[$of_type])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[cfg_attr(feature = "manifest", derive(serde::Serialize, serde::Deserialize))]
        pub enum $type { $($(#[$doc])* #[cfg_attr(feature = "manifest", serde(rename = $name))] $variant,)* }

        impl $type {
            /// All of them.
            pub const ALL: [Self; [$(Self::$variant),*].len()] = [$(Self::$variant),*];

            /// The name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }

        $crate::named!($type, $what);
    };
}
pub(crate) use named_enum;
