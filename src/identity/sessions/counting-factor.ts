/**
 * Whether the second factor of a session counts for this member. One that another provider saw (`amr` has `mfa` right after `fed`, in the
 * order in which they were shown) does not for owners, also for those who became one since: its administrator could be them.
 */
export const isCounting = (amr: readonly string[], { isOwner }: { isOwner: boolean }): boolean =>
  !(isOwner && amr[0] === 'fed' && amr[1] === 'mfa')
