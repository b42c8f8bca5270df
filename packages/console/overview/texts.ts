const number = (count: number) => count.toLocaleString('en')

export const texts = {
  title: 'Overview',
  about: (name: string) => `What happened in ${name} in the last seven days, and what waits for you.`,
  charts: {
    people: 'People',
    peopleAbout: (joined: number) =>
      joined === 1 ? '1 joined this week' : `${number(joined)} joined this week`,
    signIns: 'Sign-ins',
    signInsAbout: (failed: number) =>
      failed === 0 ? 'None failed' : failed === 1 ? '1 more failed' : `${number(failed)} more failed`,
    denials: 'Denials',
    denialsAbout: 'Requests that a rule or policy refused',
    day: 'Day',
    joined: 'Joined',
    failed: 'Failed',
    atLeast: (count: number) => `${number(count)}+`,
    incomplete: 'There is more than is counted here. The newest 20,000 of each kind are.',
    asTable: 'As a table',
  },
  waits: {
    title: 'Waiting for you',
    none: {
      title: 'Nothing waits',
      about: 'Requests that need your approval, and what needs repair, appear here.',
    },
    approvals: (count: number) =>
      count === 1 ? '1 request waits for an approval' : `${number(count)} requests wait for an approval`,
    approvalsAbout: 'Look at what was asked, then approve or reject it.',
    webhook: (host: string) => `The webhook to ${host}`,
    failing: 'Its last attempt failed. The service tries again at growing intervals.',
    disabled: 'It is disabled: nothing is sent until you enable it again.',
    throttled: 'The limit of webhook deliveries is reached for today',
    throttledAbout: 'Events are still in the feed. Deliveries go on after midnight UTC.',
    oneOwner: 'There is one owner only',
    oneOwnerAbout:
      'If they lose their account, no one can close or restore the organisation. Make another person an owner.',
    noFactor: 'Your account has no second factor',
    noFactorAbout: 'You manage this organisation. Protect your account with an app or a passkey.',
    mfaOff: 'A second factor is optional here',
    mfaOffAbout: 'You can require one of every person who enters this organisation.',
    closed: { suspended: 'The organisation is suspended', archived: 'The organisation is archived' },
    closedAbout: 'Only owners can enter it until it is activated again.',
    expired: (count: number) =>
      count === 1 ? '1 invitation has expired' : `${number(count)} invitations have expired`,
    expiredAbout: 'Send them again, or cancel them.',
    open: 'Open',
  },
  latest: { title: 'Latest changes', all: 'Audit log', none: 'Nothing was changed yet.' },
}
