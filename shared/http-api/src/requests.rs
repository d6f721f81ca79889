//! Request bodies: read and checked field by field. One pass finds every error of a body, so that one answer lists all.
//!
//! The routes call it. Each body is declared once, in its own file: the members that are read, their schema in the
//! OpenAPI document and the names that are known come from one structure. What comes out is what the use-cases take.
//! Deliberately absent: HTTP itself, status codes, rules that need ports (address policy). Payload bytes are copied,
//! never rewritten (DL-4), and no message shows a secret or a header's value (SE-1).

pub(crate) mod dead_letters;
pub(crate) mod decision;
pub(crate) mod enqueue;
mod headers;
mod object;
mod secrets;
