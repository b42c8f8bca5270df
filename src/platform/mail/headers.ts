/** The sender, taken apart once, so that no address is parsed when a mail is sent. */
export interface Sender {
  name: string
  address: string
}

/** Takes apart `Name <address>`, or an address alone; config has checked it. */
export function senderOf(from: string): Sender {
  const parts = /^\s*"?([^"<]*?)"?\s*<([^<>]+)>$/.exec(from)
  return { name: parts?.[1] ?? '', address: (parts?.[2] ?? from).trim() }
}

/** The same for every sending of a mail (RFC 5322 §3.6.4), so that mail servers can tell a repetition. */
export const messageIdOf = (mailId: string, { address }: Sender) => `<${mailId}@${address.split('@').at(-1)}>`

/** Asks vacation responders to keep quiet (RFC 3834 §5). */
export const automatic = { 'Auto-Submitted': 'auto-generated' }
