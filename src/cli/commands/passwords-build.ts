import { buildBreachedPasswords } from '../breached-passwords.ts'
import { defineCommand } from '../command.ts'
import { required } from '../options.ts'

export const passwordsBuild = defineCommand({
  name: 'passwords:build',
  about: 'Write the committed set of breached passwords, from a list and the common ones of zxcvbn-ts',
  options: { list: required('<file>', 'Breached passwords, one a line, such as example.dict of hashcat') },
  example: '--list example.dict',
  async run({ options: { list } }) {
    const data = await buildBreachedPasswords(list)
    return { data, text: `${data.passwords} passwords, ${data.bytes} bytes` }
  },
})
