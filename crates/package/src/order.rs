//! The order in which tasks may run.

/// Orders the members so that each comes behind its predecessors, in the given order where that leaves a choice.
/// Otherwise returns the members of a circle.
///
/// # Errors
/// The circle, each member before the one that waits for it.
pub fn order(predecessors: &[Vec<usize>]) -> Result<Vec<usize>, Vec<usize>> {
    let mut done = vec![false; predecessors.len()];
    let mut found = Vec::with_capacity(predecessors.len());
    let is_done = |done: &[bool], index: &usize| done.get(*index).copied().unwrap_or(true);
    loop {
        let next = (0..predecessors.len()).find(|index| {
            !is_done(&done, index)
                && predecessors
                    .get(*index)
                    .is_some_and(|before| before.iter().all(|other| is_done(&done, other)))
        });
        match next {
            Some(next) => {
                if let Some(done) = done.get_mut(next) {
                    *done = true;
                }
                found.push(next);
            }
            None if found.len() == predecessors.len() => return Ok(found),
            None => return Err(circle(predecessors, &done)),
        }
    }
}

/// Walks back from a member that waits until one comes again.
fn circle(predecessors: &[Vec<usize>], done: &[bool]) -> Vec<usize> {
    let waits = |index: &usize| done.get(*index) == Some(&false);
    let mut path: Vec<usize> = Vec::new();
    let mut at = (0..predecessors.len()).find(waits);
    while let Some(member) = at {
        if let Some(start) = path.iter().position(|seen| *seen == member) {
            let mut circle = path.split_off(start);
            circle.reverse();
            return circle;
        }
        path.push(member);
        at = predecessors.get(member).and_then(|before| before.iter().copied().find(|other| waits(other)));
    }
    path
}

#[cfg(test)]
mod tests {
    use super::order;

    #[test]
    fn predecessors_come_first() {
        assert_eq!(order(&[vec![2], vec![], vec![1]]), Ok(vec![1, 2, 0]));
        assert_eq!(order(&[vec![], vec![3], vec![1], vec![2]]), Err(vec![2, 3, 1]));
        assert_eq!(order(&[vec![0]]), Err(vec![0]));
    }
}
