export const texts = {
  title: 'Organisation',
  about: 'Name, rules for everyone who enters, and how the organisation ends.',
  status: { active: 'Active', suspended: 'Suspended', archived: 'Archived' },
  general: {
    title: 'General',
    name: 'Name',
    slug: 'Short name',
    slugHint: 'It is part of addresses, and cannot change.',
    zone: 'Time zone',
    zoneHint: 'Days and hours in policies and charts are those of this zone.',
    subjectId: 'How searches name people',
    subjectIdHint:
      'What your applications get from a search for people. A member without it is named by the ID of this service.',
    subjectIds: {
      id: 'ID of this service',
      email: 'E-mail address, once it is verified',
      external_id: 'ID in your applications',
    },
    created: 'Created',
    members: 'Members',
    save: 'Save',
    done: 'The organisation is changed',
  },
  entry: {
    title: 'Who may enter',
    mfa: 'Require a second factor',
    mfaAbout:
      'Each person has to show one to enter. People without one set it up at their next sign-in. Running sessions are asked within minutes.',
    domains: 'Domains of invitations',
    domainsHint:
      'One per line, such as example.com. Only addresses of these can be invited. Empty: any address.',
    save: 'Save',
    done: 'The rules are changed',
    locked: 'Set up a second factor of your own first, or you lock yourself out.',
    toSecurity: 'Go to Security',
  },
  readOnly: 'Only people who manage the organisation can change this.',
  life: {
    title: 'Close the organisation',
    about: 'Each step says what it does. All but the last can be undone.',
    activate: {
      title: 'Activate',
      about: 'Opens the organisation again, for everyone who was a member. Nothing was lost.',
      ask: (name: string) => `Activate ${name}?`,
      go: 'Activate',
      done: 'The organisation is open again',
    },
    suspend: {
      title: 'Suspend',
      about:
        'For a pause. At once, no one but owners can enter, and tokens of applications are refused. Members, policies and records stay as they are. Webhooks hear of it.',
      ask: (name: string) => `Suspend ${name}?`,
      go: 'Suspend',
      done: 'The organisation is suspended',
    },
    archive: {
      title: 'Archive',
      about:
        'For an organisation that is no longer used, but has to be kept. As suspended, and nothing in it can change until an owner activates it.',
      ask: (name: string) => `Archive ${name}?`,
      go: 'Archive',
      done: 'The organisation is archived',
    },
    delete: {
      title: 'Delete',
      about:
        'For good. It disappears for all members at once, and you cannot restore it. After 30 days or more, all its data is erased: members, policies, decisions, audit log. Accounts of people stay.',
      ask: (name: string) => `Delete ${name} for good?`,
      go: 'Delete for good',
      done: (name: string) => `${name} is deleted`,
    },
    type: 'Type the name of the organisation to confirm',
    wrong: (name: string) => `This is not the name. Type ${name}`,
  },
}
