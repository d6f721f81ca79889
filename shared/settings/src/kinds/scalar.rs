//! Numbers, switches and choices.

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeInclusive;

use serde_json::{Number, Value};

use super::{Kind, Parsed, plain, problem, quoted};

/// A whole number, with its bounds.
#[derive(Debug)]
pub(crate) struct Whole<T>(RangeInclusive<T>);

/// A whole number within bounds.
pub(crate) fn whole<T>(bounds: RangeInclusive<T>) -> Whole<T> {
    Whole(bounds)
}

impl<T: Copy + PartialOrd + fmt::Display + Into<u64> + TryFrom<u64>> Kind for Whole<T> {
    type Value = T;

    fn allowed(&self) -> String {
        format!("a whole number between {} and {}", self.0.start(), self.0.end())
    }

    fn parse(&self, raw: &Value) -> Parsed<T> {
        let number = match raw {
            Value::Number(number) => number.as_u64(),
            Value::String(text) => text.trim().parse().ok(),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        };
        let number = number.and_then(|number| T::try_from(number).ok());
        match number.filter(|number| self.0.contains(number)) {
            Some(number) => Ok(number),
            None => problem(format!("{} is not {}", quoted(raw), self.allowed())),
        }
    }

    fn show(&self, value: &T) -> Value {
        Value::from((*value).into())
    }
}

/// A number with decimals, with its bounds.
#[derive(Debug)]
pub(crate) struct Fraction(RangeInclusive<f64>);

/// A number with decimals within bounds.
pub(crate) fn fraction(bounds: RangeInclusive<f64>) -> Fraction {
    Fraction(bounds)
}

impl Kind for Fraction {
    type Value = f64;

    fn allowed(&self) -> String {
        format!("a number between {} and {}", self.0.start(), self.0.end())
    }

    fn parse(&self, raw: &Value) -> Parsed<f64> {
        let number = match raw {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.trim().parse::<f64>().ok().filter(|number| number.is_finite()),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        };
        match number {
            Some(number) if self.0.contains(&number) => Ok(number),
            Some(_) => problem(format!("{} is not between {} and {}", quoted(raw), self.0.start(), self.0.end())),
            None => problem(format!("{} is not {}", quoted(raw), self.allowed())),
        }
    }

    fn show(&self, value: &f64) -> Value {
        Number::from_f64(*value).map_or(Value::Null, Value::Number)
    }
}

/// On or off.
#[derive(Debug)]
pub(crate) struct Flag;

/// `true` or `false`.
pub(crate) fn flag() -> Flag {
    Flag
}

impl Kind for Flag {
    type Value = bool;

    fn allowed(&self) -> String {
        "true or false".to_owned()
    }

    fn parse(&self, raw: &Value) -> Parsed<bool> {
        match plain(raw).trim() {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => problem(format!("{} is not true or false", quoted(raw))),
        }
    }

    fn show(&self, value: &bool) -> Value {
        Value::Bool(*value)
    }
}

/// A closed set of words.
pub(crate) trait Named: Copy + PartialEq + 'static {
    /// Every word with its value.
    const NAMES: &'static [(&'static str, Self)];
}

/// One of a closed set of words.
#[derive(Debug)]
pub(crate) struct OneOf<T>(PhantomData<T>);

/// One of the words of `T`.
pub(crate) fn one_of<T: Named>() -> OneOf<T> {
    OneOf(PhantomData)
}

impl<T: Named> Kind for OneOf<T> {
    type Value = T;

    fn allowed(&self) -> String {
        let names: Vec<&str> = T::NAMES.iter().map(|(name, _)| *name).collect();
        format!("one of {}", names.join(", "))
    }

    fn parse(&self, raw: &Value) -> Parsed<T> {
        let text = plain(raw);
        let found = T::NAMES.iter().find(|(name, _)| *name == text.trim());
        match found {
            Some((_, value)) => Ok(*value),
            None => problem(format!("{} is not {}", quoted(raw), self.allowed())),
        }
    }

    fn show(&self, value: &T) -> Value {
        let found = T::NAMES.iter().find(|(_, known)| known == value);
        found.map_or(Value::Null, |(name, _)| Value::from(*name))
    }
}
