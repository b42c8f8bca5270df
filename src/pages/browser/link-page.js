const address = new URLSearchParams(window.location.search)
const token = address.get('token')

// The token is secret: it must not stay in the history, in a bookmark or in the address bar.
window.history.replaceState(null, '', window.location.pathname)

/** A refusal of the service: its message, status and code. */
class Refusal extends Error {
  constructor(status, sentence, code) {
    super(sentence ?? 'The service did not say what is wrong. Try again in a moment.')
    this.status = status
    this.code = code
  }
}

/** Gives the body of the answer. Throws a Refusal. */
async function post(path, body, bearer, more) {
  const headers = {
    'Content-Type': 'application/json',
    ...more,
    ...(bearer && { Authorization: `Bearer ${bearer}` }),
  }
  const response = await fetch(path, { method: 'POST', headers, body: body && JSON.stringify(body) })
  const answer = await response.json().catch(() => ({}))
  if (!response.ok) throw new Refusal(response.status, answer.detail, answer.code)
  return answer
}

const fieldsOf = (form) => Object.fromEntries(new FormData(form))

/** Posts the token with the fields of the form. */
const useToken = (form) => () => post(form.dataset.post, { ...fieldsOf(form), token })

const askedKey = 'bailiwick-magic-link'
const ofConsole = 'console:'

/**
 * Posts the token with the nonce of the page of this origin that asked for a link last: docs/how-to/log-in-by-mail.md.
 * For the console, the answer sets its cookie, and its tabs follow. A page of an application gets the answer. The nonce
 * stays until a link has worked, because a refused request can be repeated.
 */
const useAskedToken = (form) => async () => {
  const asked = localStorage.getItem(askedKey)
  if (!asked) throw new Refusal(0, 'Open this link in the browser in which you asked for it.')
  if (!asked.startsWith(ofConsole)) {
    const answer = await post(form.dataset.post, { token, nonce: asked })
    localStorage.removeItem(askedKey)
    new BroadcastChannel(askedKey).postMessage(answer)
    return
  }
  // Relative, because the service can stand below a path of its host.
  const path = 'console/api/auth/magic-link/confirm/'
  const nonce = asked.slice(ofConsole.length)
  await post(path, { token, nonce }, undefined, { 'X-Bailiwick-Console': '1' })
  localStorage.removeItem(askedKey)
  new BroadcastChannel('bailiwick').postMessage('changed')
  location.replace('console/')
}

/**
 * Logs in, posts the token as that person, and logs out again. Gives a message if the person has to enter a code of a
 * second factor first.
 */
function useTokenLoggedIn(form) {
  let temporary
  const logIn = ({ email, password, code }) =>
    temporary
      ? post('/api/v1/auth/otp/verify/', { code }, temporary)
      : post('/api/v1/auth/login/', { email, password })
  return async () => {
    const answer = await logIn(fieldsOf(form)).catch((error) => {
      if (error.status === 401) temporary = undefined
      throw error
    })
    if (answer.otp_required) {
      temporary = answer.temporary_token
      if (!answer.methods.includes('totp') && answer.methods.includes('email'))
        await post('/api/v1/auth/otp/email/send/', undefined, temporary)
      form.querySelector('[data-second-factor]').hidden = false
      return 'Enter the code of your second factor, then press the button again.'
    }
    await post(form.dataset.post, { token }, answer.access)
    await post('/api/v1/auth/logout/', undefined, answer.access).catch(() => undefined)
    return undefined
  }
}

function activate(form) {
  const button = form.querySelector('button')
  const status = form.querySelector('[role=status]')
  const say = (outcome, sentence) => {
    status.dataset.outcome = outcome
    status.textContent = sentence
  }
  const show = (what) => form.parentElement?.querySelector(`[data-${what}]`)?.removeAttribute('hidden')
  const { logIn, asked } = form.dataset
  const act = (logIn === '' ? useTokenLoggedIn : asked === '' ? useAskedToken : useToken)(form)
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    button.disabled = true
    say('pending', 'One moment …')
    try {
      const question = await act()
      if (typeof question !== 'string') {
        show('next')
        return say('done', form.dataset.done)
      }
      say('pending', question)
    } catch (error) {
      const away = 'The service cannot be reached. Check your connection and try again.'
      say('refused', error instanceof Refusal ? error.message : away)
      if (['token_invalid', 'token_expired'].includes(error.code)) return show('dead')
    }
    button.disabled = false
  })
  if (token) button.disabled = false
  else say('refused', 'This link is incomplete. Open it from the mail again.')
}

/** A time (ms since 1970) as text: 22 November 2026 at 10:15 UTC. */
function inWords(ms) {
  const part = (options) => new Intl.DateTimeFormat('en-GB', { ...options, timeZone: 'UTC' }).format(ms)
  return `${part({ dateStyle: 'long' })} at ${part({ timeStyle: 'short' })} UTC`
}

// Anyone can make an address, so only a number of it is shown, in a fixed sentence.
for (const line of document.querySelectorAll('[data-told]')) {
  const told = address.get(line.dataset.told)
  if (!/^\d{1,14}$/.test(told ?? '')) continue
  line.textContent = line.textContent.replace('{at}', inWords(Number(told)))
  line.hidden = false
}

for (const form of document.querySelectorAll('form')) activate(form)
