//! Groups: what is published together is bounded by bytes, not by count alone.
//!
//! Release, resume and replay publish many webhooks at once, and any of them may be large. Each group is published and
//! taken off its list before the next one is begun, so after a fault at any point every repetition gets further.

use domain::Dispatch;

/// Bytes that are published together at most; a larger webhook is published alone. Small beside the producer's queue, so
/// that several groups fit into it, and large enough that a group of ordinary webhooks is bounded by its count.
pub(crate) const GROUP_BYTES_MAX: usize = 16 << 20;

/// Splits into groups of at most [`GROUP_BYTES_MAX`], in order.
pub(crate) fn groups<T>(all: Vec<T>, bytes_of: impl Fn(&T) -> usize) -> Vec<Vec<T>> {
    let (mut groups, mut bytes): (Vec<Vec<T>>, usize) = (Vec::new(), 0);
    for one in all {
        let more = bytes_of(&one);
        match groups.last_mut() {
            Some(group) if bytes + more <= GROUP_BYTES_MAX => {
                bytes += more;
                group.push(one);
            }
            Some(_) | None => {
                bytes = more;
                groups.push(vec![one]);
            }
        }
    }
    groups
}

/// The size of a dispatch, about: its payload and its headers. Its other fields are small.
pub(crate) fn bytes_of(dispatch: &Dispatch) -> usize {
    let headers = dispatch.webhook.headers.iter();
    let headers: usize = headers.map(|header| header.name.len() + header.value.as_str().len()).sum();
    dispatch.webhook.payload.bytes.len() + headers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_bounded_by_its_bytes_and_keeps_the_order() {
        const MAX: usize = GROUP_BYTES_MAX;
        let groups = |sizes: &[usize]| groups(sizes.to_vec(), |size| *size);
        assert_eq!(groups(&[]), [[0; 0]; 0]);
        assert_eq!(groups(&[0, 1, MAX - 1, 1]), [vec![0, 1, MAX - 1], vec![1]]);
        assert_eq!(groups(&[1, MAX, MAX + 1, 2, 3]), [vec![1], vec![MAX], vec![MAX + 1], vec![2, 3]]);
    }
}
