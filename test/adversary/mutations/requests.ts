// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are source code
import type { Mutation } from '../mutation.ts'

/** Mistakes in the code of the console and of reading requests. */
export const requestsMutations: readonly Mutation[] = [
  {
    what: 'the console does not ask where a request comes from',
    attacks: ['cross-site'],
    file: 'src/pages/console/refuse-cross-site.ts',
    find: 'if (!own || (changes &&',
    replace: 'if ((changes &&',
  },
  {
    what: 'the console asks for no header of its own',
    attacks: ['cross-site'],
    file: 'src/pages/console/refuse-cross-site.ts',
    find: "if (!own || (changes && ctx.get('x-bailiwick-console') !== '1')) throw",
    replace: 'if (!own) throw',
  },
  {
    what: "same-site requests count as the console's own",
    attacks: ['cross-site'],
    file: 'src/pages/console/refuse-cross-site.ts',
    find: "site === 'same-origin' || (site === 'none' && !changes)",
    replace: "site.startsWith('same-') || site === 'none'",
  },
  {
    what: 'several cookies are taken',
    attacks: ['cross-site'],
    file: 'src/pages/browser-session/cookie.ts',
    find: 'return values.length === 1 && valueForm',
    replace: 'return valueForm',
  },
  {
    what: 'scripts can read the cookie',
    attacks: ['cross-site'],
    file: 'src/pages/browser-session/cookie.ts',
    find: '`Path=/; HttpOnly; SameSite=Strict',
    replace: '`Path=/; SameSite=Strict',
  },
  {
    what: 'NUL is passed to the database',
    attacks: ['malformed'],
    file: 'src/request/body/read-body.ts',
    find: 'if (unit === 0) return at',
    replace: 'if (unit === 0) continue',
  },
  {
    what: 'lone surrogates reach the policy engine',
    attacks: ['malformed'],
    file: 'src/request/body/read-body.ts',
    find: 'if (!isPair) return at',
    replace: 'if (!isPair) continue',
  },
  {
    what: 'arrays and texts are bodies',
    attacks: ['malformed'],
    file: 'src/request/body/read-body.ts',
    find: "if (typeof value !== 'object' || value === null || Array.isArray(value))",
    replace: 'if (value === undefined)',
  },
  {
    what: 'a repeated parameter counts',
    attacks: ['malformed'],
    file: 'src/request/body/read-query.ts',
    find: "if (Array.isArray(value)) throw invalidField(name, 'Give this parameter once.')",
    replace: 'if (Array.isArray(value)) flat[name] = value.at(-1)!\n    if (Array.isArray(value)) continue',
  },
  {
    what: 'passwords are trimmed',
    attacks: ['expiry'],
    file: 'src/identity/sign-in/login.ts',
    find: 'const right = await passwords.verify(found?.password_hash, password)',
    replace: 'const right = await passwords.verify(found?.password_hash, password.trim())',
  },
  {
    what: 'an unknown address answers at once',
    attacks: ['timing'],
    file: 'src/identity/sign-in/login.ts',
    find: '  const right = await',
    replace: `  if (!found) return null
  const right = await`,
  },
  {
    what: 'mails do not escape markup',
    attacks: ['pages'],
    file: 'src/text/html.ts',
    find: "'<': '&lt;'",
    replace: "'<': '<'",
  },
  {
    what: 'query strings are logged',
    attacks: ['secrets'],
    file: 'src/http/request-log.ts',
    find: '`${ctx.method} ${ctx.path} ${ctx.status}',
    replace: '`${ctx.method} ${ctx.originalUrl} ${ctx.status}',
  },
]
