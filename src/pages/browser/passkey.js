// The one script of the sign-in pages: passkeys have no form without it. Options come from the service, and the credential
// goes back in a form, so that every answer is a page. https://www.w3.org/TR/webauthn-3/

const staleAfter = 240_000 // ms: a challenge works for 5 minutes

/** Options of the ceremony of a form. */
async function optionsOf(form) {
  const response = await fetch(form.dataset.passkey, {
    method: 'POST',
    body: new URLSearchParams(new FormData(form)),
    redirect: 'error',
  })
  if (!response.ok) throw new Error(`The options were refused: ${response.status}`)
  return response.json()
}

/** A new passkey, or one that the person has. */
async function credentialFor(form, how) {
  const options = await optionsOf(form)
  return 'new' in form.dataset
    ? navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) })
    : navigator.credentials.get({
        publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options),
        ...how,
      })
}

async function use(form, how) {
  const credential = await credentialFor(form, how)
  const { credential: field } = form.elements
  if (field.value) return // another one is on its way
  field.value = JSON.stringify(credential)
  for (const own of form.querySelectorAll('[data-from]'))
    own.value = document.getElementById(own.dataset.from).value
  form.submit()
}

/** Offers passkeys among the suggestions for the address. Gives the function that ends the offer. */
function offer(form) {
  const controller = new AbortController()
  use(form, { mediation: 'conditional', signal: controller.signal }).catch(() => undefined)
  return () => controller.abort()
}

async function activate(form) {
  form.hidden = false
  const says = form.querySelector('[role=status]')
  const offers =
    document.querySelector('input[autocomplete~=webauthn]') !== null &&
    (await PublicKeyCredential.isConditionalMediationAvailable?.())
  let end = () => undefined
  let since = 0
  const offerAnew = () => {
    if (!offers) return
    end()
    end = offer(form)
    since = Date.now()
  }
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    if (form.elements.credential.value) return
    end()
    says.textContent = ''
    try {
      await use(form, {})
    } catch {
      says.textContent = form.dataset.failed
      offerAnew()
    }
  })
  // A browser that goes back shows the form as it was.
  window.addEventListener('pageshow', () => {
    form.elements.credential.value = ''
  })
  window.addEventListener('focus', () => Date.now() - since > staleAfter && offerAnew())
  offerAnew()
}

if (globalThis.PublicKeyCredential?.parseRequestOptionsFromJSON)
  for (const form of document.querySelectorAll('form[data-passkey]')) activate(form)
