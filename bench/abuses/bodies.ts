import type { Abuse } from './abuse.ts'
import { bearer, signUp } from './people.ts'

const connections = 20
const kibi = 1024

/** A stranger sends the largest bodies that need no token, as fast as they are answered. No limit by address is on. */
export const strangersBodies: Abuse = {
  name: 'strangers',
  about: `${connections} connections without a token, each with one body of 16 KiB after the other`,
  async setUp() {
    const body = `{"key":"none","x":[${'0,'.repeat(8 * kibi - 20)}0]}`
    const headers = { 'content-type': 'application/json' }
    const accounts = Array.from({ length: connections }, () => ({ headers, body }))
    return [{ method: 'POST', path: '/api/v1/keys/revoke/', accounts }]
  },
}

/** The members of a body that takes the longest to parse: as many names as are accepted, with escapes in one text. */
const members = Array.from({ length: 19_900 }, (_, n) => `"${n.toString(36).padEnd(38, 'x')}":0`)

/** A person sends the costliest body, as often as they can call the service: 600 times a minute. */
export const costlyBodies: Abuse = {
  name: 'bodies',
  about: 'One person, 10 bodies a second with 19,900 names in 1 MiB',
  async setUp(url) {
    const { id, access } = await signUp(url, 'sender')
    const question = `"subject":{"type":"user","id":"${id}"},"action":{"name":"a:b"},"resource":{"type":"a","id":"\\ud83d\\ude00"}`
    const body = `{${question},${members.join()}}`
    return [
      {
        method: 'POST',
        path: '/access/v1/evaluation',
        rate: 10,
        accounts: [{ headers: bearer(access), body }],
      },
    ]
  },
}
