//! Contract suites, generators, fake receiver and reference model.
