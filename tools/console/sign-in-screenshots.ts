import { setTimeout as sleep } from 'node:timers/promises'
import { generateSync } from 'otplib'
import type { Browser } from 'playwright-core'
import { type Account, call, colleague, invited } from '../../src/start/development/seed-firm.ts'
import { pictureOf } from './picture.ts'

interface Seeded {
  url: string
  admin: Account
  save: (name: string, picture: Buffer) => Promise<void>
}

/** Saves pictures of the sign-in pages as `sign-in-<page>`: a colleague signs in with an app, and a new one is invited. */
export async function shootSignIn(browser: Browser, { url, admin, save }: Seeded): Promise<void> {
  const context = await browser.newContext({ viewport: { width: 560, height: 620 }, reducedMotion: 'reduce' })
  const page = await context.newPage()
  const shoot = async (name: string, title: string) => {
    await page.getByRole('heading', { level: 1, name: title }).waitFor()
    await save(`sign-in-${name}`, await pictureOf(context, page))
  }
  await enrolApp(url, colleague)
  await page.goto(`${url}/sign-in/`)
  await page.getByLabel('E-mail address').fill(colleague.email)
  await shoot('address', 'Sign in')
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByLabel('Password').fill(colleague.password)
  await shoot('password', 'Enter your password')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await shoot('second-factor', 'Confirm that it is you')
  await page.goto(await invitationLink(url, admin))
  await page.getByLabel('First name').fill('Robin')
  await page.getByLabel('Last name').fill('Castellanos')
  await page.setViewportSize({ width: 560, height: 740 })
  await shoot('invitation', 'Join Northwind Harbour')
}

const logIn = async (url: string, { email, password }: Account): Promise<string> =>
  (await call(url, 'POST', '/auth/login/', { email, password })).access

/** Sets up an app for a person, so that their sign-in asks for its code. */
async function enrolApp(url: string, person: Account): Promise<void> {
  const token = await logIn(url, person)
  const { secret } = await call(url, 'POST', '/auth/otp/totp/setup/', {}, token)
  await call(url, 'POST', '/auth/otp/totp/confirm/', { code: generateSync({ secret }) }, token)
}

/** Invites a person, and gives the link of the mail that the service captured. */
async function invitationLink(url: string, admin: Account): Promise<string> {
  const token = await logIn(url, admin)
  const { current_tenant: tenant } = await call(url, 'GET', '/users/me/', null, token)
  await call(url, 'POST', `/tenants/${tenant.id}/invitations/`, invited, token)
  for (let tries = 0; tries < 50; tries++) {
    const mailbox = await (await fetch(`${url}/dev/mailbox`)).text()
    const mail = mailbox.split('<article>').find((one) => one.includes(`To ${invited.email},`))
    const link = /https?:\/\/[^\s"<&]*\/accept-invitation\?token=[\w-]+/.exec(mail ?? '')?.[0]
    if (link) return link
    await sleep(200)
  }
  throw new Error('The mailbox has no invitation')
}
