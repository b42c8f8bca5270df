export const texts = {
  title: 'Directory',
  about: 'A directory, such as Entra, Okta or Google, keeps the members of your organisation by SCIM.',
  never: 'never',
  facts: { users: 'Users', groups: 'Groups', last: 'Last request' },
  connect: {
    title: 'Connect a directory',
    about:
      'Enter these values in the directory. Verify your domain first: its people become members at once.',
    create: 'Make a key',
    createGo: 'Make the key',
    createAbout:
      'A service account with a key that can do nothing but provision. The key works for a year: make another one before it ends, enter it, and delete the old one.',
    directory: 'Directory',
    kinds: { Entra: 'Microsoft Entra ID', Okta: 'Okta', Google: 'Google Workspace', Other: 'Another one' },
    where: {
      Entra:
        'Enterprise application, Provisioning, automatic. Match userName, and map objectId to externalId.',
      Okta: 'Application, Provisioning, SCIM connector. Unique identifier userName; push new users, profile updates and deactivation.',
      Google: 'App, Autoprovisioning.',
      Other: 'Match userName, and send externalId.',
    },
    url: 'Address',
    secret: 'Key',
    secretTitle: 'The key of your directory',
    secretAbout: 'It is shown only now. Enter it in the directory as the secret token.',
    made: 'The key is made',
    accounts: 'Keys of directories are those of its service accounts.',
  },
  rules: {
    title: 'What groups give',
    about:
      'Members of a group have these roles, and lose them with the group. A role that a person gave stays.',
    columns: ['Group', 'Roles', 'Department'],
    create: 'Add a rule',
    createGo: 'Add',
    edit: 'Add a rule',
    editGo: 'Add',
    created: 'The rule is added',
    changed: 'The rule is added',
    group: 'Group',
    members: (name: string, count: number) => `${name} (${count})`,
    roles: 'Roles',
    removed: 'The rule is removed',
    remove: 'Remove the rule',
    removeOf: (name: string) => `Remove the rule of ${name}`,
    removing: {
      title: (name: string) => `Remove the rule of ${name}?`,
      about: 'Members of the group lose the roles that no other rule gives them. What a person gave stays.',
    },
    empty: {
      title: 'No rule yet',
      about: 'Groups are kept with their members, and give nothing before you say what.',
    },
  },
  log: {
    title: 'Requests',
    about: 'What directories asked in the last 30 days, and what they were answered.',
    columns: ['Request', 'Answer', 'Time'],
    any: 'All answers',
    outcomes: { true: 'Failed', false: 'Done' },
    empty: { title: 'No request yet', about: 'Start provisioning in the directory.' },
  },
}
