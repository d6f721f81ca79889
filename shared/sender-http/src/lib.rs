//! Port sender on reqwest.
