//! The problems that many routes may answer with, for the document.

use std::collections::BTreeMap;

use utoipa::openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder};
use utoipa::{IntoResponses, PartialSchema, ToSchema};

use crate::problem::{PROBLEM_JSON, Problem};
use crate::validation::ValidationError;

type Responses = BTreeMap<String, RefOr<Response>>;

/// A route that asks for a key.
pub(super) struct Guarded;

/// A route that asks for a key and reads hot state or the log.
pub(super) struct Reads;

/// A route that asks for a key, reads a body, and writes.
pub(super) struct Writes;

impl IntoResponses for Guarded {
    fn responses() -> Responses {
        problems(&[("401", "No known API key was sent."), ("403", "The API key does not cover this.")])
    }
}

impl IntoResponses for Reads {
    fn responses() -> Responses {
        let mut responses = Guarded::responses();
        responses.extend(problems(&[
            ("422", "A parameter breaks a rule; errors names it."),
            ("500", "An internal error."),
            ("503", "Temporarily unavailable; Retry-After says when to repeat the request."),
        ]));
        responses
    }
}

impl IntoResponses for Writes {
    fn responses() -> Responses {
        let mut responses = Reads::responses();
        responses.extend(problems(&[
            ("400", "The body is not JSON; detail says where."),
            ("413", "The body is too large."),
            ("422", "Fields break rules; errors names all of them."),
        ]));
        responses
    }
}

fn problems(listed: &[(&str, &str)]) -> Responses {
    let problem = |(status, description): &(&str, &str)| {
        let content = ContentBuilder::new().schema(Some(Ref::from_schema_name(Problem::name()))).build();
        let response = ResponseBuilder::new().description(*description).content(PROBLEM_JSON, content).build();
        ((*status).to_owned(), RefOr::T(response))
    };
    listed.iter().map(problem).collect()
}

/// The schemas that only problems refer to.
pub(super) fn schemas() -> Vec<(String, RefOr<utoipa::openapi::schema::Schema>)> {
    vec![
        (Problem::name().into_owned(), Problem::schema()),
        (ValidationError::name().into_owned(), ValidationError::schema()),
    ]
}
