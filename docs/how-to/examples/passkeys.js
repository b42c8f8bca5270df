// #region post
const service = '' // for example https://id.example.com; empty if your pages have the same origin

async function post(path, body, token) {
  const headers = { 'Content-Type': 'application/json', ...(token && { Authorization: `Bearer ${token}` }) }
  const answer = await fetch(`${service}/api/v1/auth/passkeys${path}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body ?? {}),
  })
  const content = await answer.json()
  if (!answer.ok) throw Object.assign(new Error(content.detail), content)
  return content
}
// #endregion

// #region register
/** Registers a passkey of this device for the person with the access token. */
export async function registerPasskey(access, name) {
  const options = await post('/registration/', {}, access)
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options)
  const credential = await navigator.credentials.create({ publicKey })
  return post('/', { name, credential: credential.toJSON() }, access)
}
// #endregion

// #region login
/** Logs a person in with a passkey that they choose. `mediation: 'conditional'` offers it in the address field. */
export async function logInWithPasskey({ mediation, signal, tenantId } = {}) {
  const options = await post('/login/options/')
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options)
  const credential = await navigator.credentials.get({ publicKey, mediation, signal })
  return post('/login/', { credential: credential.toJSON(), tenant_id: tenantId })
}
// #endregion

// #region verify
/** Shows a passkey as a second factor, with a temporary token or an access token. */
export async function showPasskey(token) {
  const options = await post('/verify/options/', {}, token)
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options)
  const credential = await navigator.credentials.get({ publicKey })
  return post('/verify/', { credential: credential.toJSON() }, token)
}
// #endregion
