//! The consumer group of one topic: which member reads which partition, and how far.

use std::sync::Arc;

use tokio::sync::Notify;

#[derive(Debug)]
pub(super) struct Group {
    members: Vec<Member>,
    next_member: u64,
    partitions: Vec<Assignment>,
}

#[derive(Debug)]
struct Member {
    id: u64,
    wake: Arc<Notify>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Assignment {
    member_id: Option<u64>,
    /// The next offset to hand out.
    position: u64,
    committed: u64,
}

impl Group {
    pub(super) fn new(partitions: usize) -> Self {
        Self { members: Vec::new(), next_member: 0, partitions: vec![Assignment::default(); partitions] }
    }

    pub(super) fn join(&mut self) -> (u64, Arc<Notify>) {
        let (id, wake) = (self.next_member, Arc::new(Notify::new()));
        self.next_member += 1;
        self.members.push(Member { id, wake: Arc::clone(&wake) });
        self.rebalance();
        (id, wake)
    }

    pub(super) fn leave(&mut self, id: u64) {
        self.members.retain(|member| member.id != id);
        self.rebalance();
    }

    /// Wakes the member that reads a partition.
    pub(super) fn notify(&self, partition: u32) {
        let assignment = usize::try_from(partition).ok().and_then(|index| self.partitions.get(index));
        let member_id = assignment.and_then(|assignment| assignment.member_id);
        let member = self.members.iter().find(|member| Some(member.id) == member_id);
        if let Some(member) = member {
            member.wake.notify_one();
        }
    }

    /// The partitions of a member with their next offsets.
    pub(super) fn assigned(&self, id: u64) -> Vec<(u32, u64)> {
        let assignments = self.partitions.iter().zip(0_u32..);
        assignments.filter(|(a, _)| a.member_id == Some(id)).map(|(a, partition)| (partition, a.position)).collect()
    }

    pub(super) fn handed_out(&mut self, partition: u32, next: u64) {
        if let Some(assignment) = self.slot(partition) {
            assignment.position = next;
        }
    }

    /// Commits for a member; a member that lost the partition commits nothing.
    pub(super) fn commit(&mut self, id: u64, partition: u32, offset: u64) -> bool {
        let Some(assignment) = self.slot(partition).filter(|assignment| assignment.member_id == Some(id)) else {
            return false;
        };
        assignment.committed = assignment.committed.max(offset);
        true
    }

    pub(super) fn committed(&self) -> Vec<u64> {
        self.partitions.iter().map(|assignment| assignment.committed).collect()
    }

    fn slot(&mut self, partition: u32) -> Option<&mut Assignment> {
        usize::try_from(partition).ok().and_then(|index| self.partitions.get_mut(index))
    }

    /// Spreads the partitions over the members; a partition that changes hands is handed out again from its
    /// committed offset.
    fn rebalance(&mut self) {
        let ids: Vec<u64> = self.members.iter().map(|member| member.id).collect();
        let mut turn = ids.iter().cycle();
        for assignment in &mut self.partitions {
            let member_id = turn.next().copied();
            if assignment.member_id != member_id {
                assignment.member_id = member_id;
                assignment.position = assignment.committed;
            }
        }
        self.members.iter().for_each(|member| member.wake.notify_one());
    }
}
