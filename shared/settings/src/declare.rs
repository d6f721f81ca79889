//! The one form in which a section declares its keys.
//!
//! Used by the file of each section. A declaration becomes a struct with one public field per key, and the
//! function that reads it. The doc comment of a field is also its help text in the reference table, and the
//! key's path is the prefix followed by the field's name, so nothing about a key is written twice. Checks
//! across keys are not declared here: a section writes them as a plain `check` function.

/// Declares a section.
///
/// Shape: `"prefix" Name { /// help \n field: Type = kind.or(default); .. } nested { /// help \n part:
/// Section; .. }`
macro_rules! section {
    (
        $(#[doc = $about:literal])+
        $prefix:literal $name:ident {
            $( $(#[doc = $help:literal])+ $field:ident : $type:ty = $setting:expr; )*
        }
        $( nested { $( $(#[doc = $part_help:literal])+ $part:ident : $part_type:ty; )+ } )?
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name {
            $(
                $(#[doc = $help])+
                #[doc = concat!("\n\nKey `", $prefix, stringify!($field), "`: `", stringify!($setting), "`.")]
                pub $field: $type,
            )*
            $($( $(#[doc = $part_help])+ pub $part: $part_type, )+)?
        }

        impl $name {
            /// Reads every key of the section; a key whose value is wrong gets its default.
            pub(crate) fn read(reader: &mut $crate::reader::Reader) -> Self {
                Self {
                    $(
                        $field: reader.read(
                            $crate::key::Key {
                                path: concat!($prefix, stringify!($field)),
                                help: concat!($($help),+),
                            },
                            $setting,
                        ),
                    )*
                    $($( $part: <$part_type>::read(reader), )+)?
                }
            }
        }
    };
}
