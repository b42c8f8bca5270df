export const texts = {
  signIn: {
    title: 'You are signed out',
    about: 'Sign in to go on.',
    ended: 'Your session has ended. Sign in again to go on where you were.',
    go: 'Sign in',
    required: 'This organisation has its members sign in by its identity provider.',
    byProvider: 'Sign in by the organisation',
    otherwise: 'Sign in in another way',
  },
  factor: {
    title: 'Second factor',
    about: {
      totp: 'Enter the 6-digit code that your authenticator app shows.',
      email: 'Enter the 6-digit code that we mailed you.',
      static: 'Enter one of your recovery codes. Each works once.',
      passkey: 'Use a passkey of this device, of your phone, or a security key.',
    },
    label: { totp: 'Code', email: 'Code', static: 'Recovery code', passkey: 'Passkey' },
    go: 'Continue',
    mail: 'Mail me a code',
    mailAbout: 'We send a 6-digit code to your address. It is valid for a few minutes.',
    mailAgain: 'Send another code',
    mailed: 'A code is on its way. Check your mailbox.',
    use: {
      totp: 'Use your app',
      email: 'Use a code by e-mail',
      static: 'Use a recovery code',
      passkey: 'Use a passkey',
    },
    other: 'Use another account',
    young: (at: string) =>
      `The code is right, but this factor is new and counts from ${at}. Use another one, or wait until then.`,
    none: 'This organisation requires a second factor, and you have none yet. Set one up to go on.',
    noneUsable:
      'This organisation requires a second factor, which here is a passkey. This browser cannot make one: use another browser or device.',
    makePasskey: 'Make a passkey',
  },
  switch: {
    done: (name: string) => `You are now in ${name}`,
    demands: (name: string) => `${name} requires a second factor.`,
    cancel: 'Cancel',
  },
  outage: 'The service is not available',
  suspended: 'This organisation is closed to you',
  signOut: 'Sign out',
  foot: 'Bailiwick · identity and access',
}
