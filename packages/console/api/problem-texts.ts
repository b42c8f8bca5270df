const time = new Intl.DateTimeFormat('en', { timeStyle: 'short' })

/** What people read in place of the service's own words, by the code of a refusal. `again`: when a repetition can succeed. */
export const problemTexts: Readonly<Record<string, (again: Date | null) => string>> = {
  quota_exceeded: (again) =>
    `Today’s changes have filled the logs and histories of this organisation, or the tenth of them that is yours. ${
      again ? `You can go on at ${time.format(again)}` : 'You can go on tomorrow'
    }. What takes access away still works: removing, suspending, revoking and switching off.`,
}
