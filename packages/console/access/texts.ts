export const texts = {
  title: 'Who may do what',
  about:
    'Asks the policies that are in force, as an application would. A search writes nothing to the decisions.',
  tabs: {
    actions: 'What may this person do',
    subjects: 'Who may do this',
    resources: 'On what may they do it',
  },
  person: 'Person',
  personHint: 'An address or id. Empty: you.',
  action: 'Action',
  actionHint: 'Such as member:delete',
  type: 'Type of object',
  id: 'Id of the object',
  idHint: 'Empty: the list, or a new one.',
  search: 'Search',
  more: 'Show more',
  found: {
    actions: (count: number) => (count === 1 ? '1 action is allowed' : `${count} actions are allowed`),
    subjects: (count: number) => (count === 1 ? '1 person may do this' : `${count} people may do this`),
    resources: (count: number) => (count === 1 ? '1 object' : `${count} objects`),
  },
  andMore: ', and more follow',
  none: {
    actions: 'Nothing of this type is allowed',
    subjects: 'No member may do this',
    resources: 'There is nothing on which they may do it',
  },
  withoutId: 'These need no object. Give the id of one to see what may be done to it.',
  whichObject: 'Which object?',
  noneWithoutId:
    'The question was about a new object or the list. For a change of an object that exists, give its id.',
  noneAbout: 'Roles and policies together permit nothing here.',
  notAllowed: 'Not allowed',
  allowed: 'Allowed',
  start: 'Choose a question',
  startAbout: 'The answer takes roles, policies and the state of the objects into account.',
}
