export const texts = {
  title: 'Events',
  about: 'What happens in your organisation, as your webhooks and applications see it.',
  columns: ['Event', 'By', 'About', 'When'],
  search: 'Search by id of a person or object',
  anyType: 'Any event',
  all: (family: string) => `All of ${family}`,
  live: 'Live',
  paused: 'Paused',
  pause: 'Pause',
  goOn: 'Go on',
  service: 'The service',
  themselves: 'Themselves',
  loaded: (shown: number, loaded: number) =>
    shown === loaded
      ? `The newest ${loaded.toLocaleString('en')}`
      : `${shown.toLocaleString('en')} of the newest ${loaded.toLocaleString('en')}`,
  older: 'Load older events',
  behind: 'New events could not be read. The page keeps trying.',
  details: (type: string) => `Details of ${type}`,
  envelope: 'As your applications get it',
  number: (sequence: number) => `Number ${sequence.toLocaleString('en')}`,
  empty: {
    title: 'Nothing has happened yet',
    about: 'Sign-ins, changes and approvals appear here as they happen.',
  },
  none: 'Only loaded events are searched. Load older ones, or clear the filters.',
}
