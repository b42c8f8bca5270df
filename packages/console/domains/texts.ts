import type { State } from './state.tsx'

export const texts = {
  title: 'Domains',
  about:
    'Domains of e-mail addresses that are your organisation’s: with them, people sign in by your connections.',
  columns: ['Domain', 'State', 'Sign-ins'],
  open: (domain: string) => `Open ${domain}`,
  back: 'All domains',
  actions: 'Actions',
  edit: 'Change',
  created: 'The domain is claimed',
  changed: 'The domain is changed',
  remove: 'Give it up',
  removed: 'The domain is given up',
  removing: {
    title: (domain: string) => `Give ${domain} up?`,
    about: 'Its loans end, and another organisation can verify it. People stay as they are.',
  },
  empty: {
    title: 'No domain yet',
    about: 'Claim the domain of your addresses, and prove by a record in the DNS that it is yours.',
  },
  states: {
    pending: 'Not verified',
    verified: 'Verified',
    missing: 'Record missing',
    lost: 'Lost',
  } satisfies Record<State, string>,
  form: {
    create: 'Claim a domain',
    createGo: 'Claim',
    edit: 'Change the domain',
    editGo: 'Save',
    domain: 'Domain',
    domainHint: 'The part of your addresses after the @.',
    route: 'Sign-ins with addresses of the domain',
    subdomains: 'Subdomains, too',
    subdomainsHint:
      'The same holds for addresses of its subdomains, unless another organisation has verified them.',
  },
  routes: { always: 'Go on at your connections', never: 'Ask for the password, as before' },
  record: {
    title: 'The record in the DNS',
    add: 'Add it at your DNS provider. If the provider adds the domain to the name by itself, enter _bailiwick alone.',
    keep: 'Leave it there: it is looked for once a day.',
    type: 'Type',
    name: 'Name',
    value: 'Value',
    verify: 'Verify',
    verified: 'The domain is verified',
    owners: 'An owner of the organisation verifies the domain, after the record is there.',
  },
  notices: {
    missing: {
      title: 'The record is missing',
      since: 'It has not been found since',
      about: 'Add it again, then verify. Without it, the domain is lost on',
    },
    lost: {
      title: 'The domain is lost',
      about:
        'Its record was missing for 14 days. People who signed in by your connections before still do; new people are not led there. Add the record again, then verify.',
    },
  },
  facts: {
    title: 'What the domain does',
    route: 'Sign-ins with its addresses',
    subdomains: 'Subdomains',
    with: 'Covered, unless another organisation has verified them',
    without: 'Not covered',
    verified: 'Verified',
    created: 'Claimed',
  },
  loans: {
    title: 'Lent to',
    about:
      'The connections of these organisations are offered to its addresses, too. The domain stays yours.',
    columns: ['Organisation'],
    create: 'Lend it',
    tenant: 'Id of the organisation',
    tenantHint: 'A UUID. Its administrators see it under Settings.',
    lending: {
      title: 'Lend the domain?',
      about:
        'People with its addresses can then sign in by the connections of that organisation. Lend it only to one that you trust.',
    },
    lent: 'The domain is lent',
    remove: 'End the loan',
    endOf: (tenant: string) => `End the loan to ${tenant}`,
    removed: 'The loan has ended',
    removing: {
      title: (tenant: string) => `End the loan to ${tenant}?`,
      about: 'Its connections are no longer offered to addresses of the domain.',
    },
  },
}
