export const texts = {
  showPassword: 'Show password',
  forbidden: 'You may not see this',
  missing: 'There is nothing here',
  failed: 'This could not be loaded',
  retry: 'Try again',
  loading: 'Loading',
  cancel: 'Cancel',
  close: 'Close',
  copy: 'Copy',
  copied: 'Copied',
  earlier: 'Previous',
  later: 'Next',
  confirmPassword: {
    title: 'Confirm that it is you',
    about: 'This changes how your account is protected. Enter your password to go on.',
    label: 'Your password',
    go: 'Confirm',
  },
  confirmCode: {
    title: 'Show your second factor',
    about:
      'This needs a second factor of the last few minutes. Enter a code of your app, or a recovery code.',
    label: 'Code',
    go: 'Confirm',
    mail: 'Mail me a code',
    mailed: 'A code is on its way to your mailbox.',
  },
}
