//! The HTTP router.
