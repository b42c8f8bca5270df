/** The webhooks named by the messages on which a poisoned worker fails, and dies. */
export const failing = '00000000-0000-4000-8000-00000000fa11'
export const deadly = '00000000-0000-4000-8000-00000000dead'
