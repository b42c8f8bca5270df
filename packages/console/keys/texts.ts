export const texts = {
  page: {
    title: 'API keys',
    about: 'Scripts of yours sign in with them, and can do what you can in this organisation.',
  },
  own: {
    title: 'Your keys',
    about: 'For a server or a job, make a service account instead: its keys outlive your membership.',
  },
  ofAccount: {
    title: 'Keys',
    about: 'The program sends one as “Authorization: Bearer bwk_…”. At most 10 work at a time.',
  },
  columns: ['Key', 'May use', 'Last used', 'Expires'],
  create: 'New key',
  created: 'The key is made',
  everything: 'All permissions',
  never: 'Never',
  expired: 'Expired',
  replaced: 'Replaced',
  menu: (name: string) => `Actions for ${name}`,
  empty: {
    title: 'No key yet',
    about: 'Make one for each place that uses it, so that you can revoke it alone.',
  },
  form: {
    title: 'New API key',
    go: 'Make the key',
    name: 'Name',
    nameHint: 'Where the key is used, such as “Report server”.',
    expires: 'Works for',
    days: (days: number) => (days === 365 ? 'A year' : `${days} days`),
    may: 'May use',
    all: 'All permissions',
    allAbout: 'Including those of roles that you get later.',
    some: 'Only these',
    someAbout: 'It never gets more than its holder has.',
    scopes: 'Permissions',
    scopesHint: 'Such as member:list, or document:* for all of documents.',
    noScope: 'Name at least one permission.',
  },
  secret: {
    title: 'Copy this key now',
    until: 'The old key works until',
  },
  rotate: 'Replace',
  rotated: 'The key is replaced',
  rotating: {
    title: (name: string) => `Replace the key ${name}?`,
    about: 'You get a new key with the same permissions and the same lifetime.',
    go: 'Make the new key',
    overlap: 'The old key works for',
    overlaps: { 0: 'no longer: it ends at once', 3600: '1 hour', 28800: '8 hours', 86400: '1 day' } as Record<
      string,
      string
    >,
  },
  revoke: 'Revoke',
  revoked: 'The key is revoked',
  revoking: {
    title: (name: string) => `Revoke the key ${name}?`,
    about: 'Requests with it are refused from now on. This cannot be undone.',
  },
}
