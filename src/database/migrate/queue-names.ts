/** The queues of the service; `messages/queues/queues.ts` says what each holds. A migration makes a sequence for each. */
export const queueNames = [
  'email',
  'notices',
  'event-fanout',
  'webhook',
  'webhook-once',
  'logout',
  'execution',
  'otp-expiry',
  'approval-expiry',
  'retention',
] as const
