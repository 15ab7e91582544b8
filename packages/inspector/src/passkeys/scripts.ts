// What pages without a bundle run. Each is allowed by its digest.

const BYTES = `const bytes = (text) => Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (char) => char.charCodeAt(0))
const note = document.getElementById('note')
const failed = (error) => {
  note.textContent = error.name === 'NotAllowedError' ? 'It was cancelled, or no passkey of this browser fits. Try again.'
    : error.name === 'InvalidStateError' ? 'This passkey is registered already.' : error.message
}
if (!('credentials' in navigator)) note.textContent = 'This browser has no passkeys. They need https, or http://localhost.'
`

/** Adds a passkey to an answer that allows. Anything else is sent as it is. */
export const ANSWER_SCRIPT = `${BYTES}
const form = document.querySelector('form')
form.addEventListener('submit', (event) => {
  const data = new FormData(form)
  if (data.get('answer') === 'reject' || data.get('answer') === 'no') return
  event.preventDefault()
  answer(data).catch(failed)
})
async function answer(data) {
  data.set('passkey', 'ask')
  const asked = await fetch(location.href, { method: 'POST', body: new URLSearchParams(data) })
  const { error, challenge, relyingParty, credentials } = await asked.json()
  if (error !== undefined) throw new Error(error)
  const found = await navigator.credentials.get({ publicKey: {
    challenge: bytes(challenge), rpId: relyingParty, userVerification: 'required',
    allowCredentials: credentials.map((id) => ({ type: 'public-key', id: bytes(id) })),
  } })
  form.elements.passkey.value = JSON.stringify(found.toJSON())
  form.submit()
}
`

/** Makes a passkey when the button is pressed. The token is in the fragment, which is not sent. */
export const REGISTER_SCRIPT = `${BYTES}
const token = location.hash.slice(1)
history.replaceState(null, '', location.pathname)
const send = async (path, body) => {
  const answer = await fetch(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ token, ...body }) })
  const read = await answer.json()
  if (read.error !== undefined) throw new Error(read.error)
  return read
}
const button = document.querySelector('button')
async function register() {
  const { challenge, relyingParty, name, user, known } = await send('options', {})
  const made = await navigator.credentials.create({ publicKey: {
    challenge: bytes(challenge), rp: { id: relyingParty, name: 'Bulkhead' },
    user: { id: bytes(user), name, displayName: name },
    pubKeyCredParams: [-8, -7, -257].map((alg) => ({ type: 'public-key', alg })),
    authenticatorSelection: { userVerification: 'required', residentKey: 'preferred' }, attestation: 'none',
    excludeCredentials: known.map((id) => ({ type: 'public-key', id: bytes(id) })),
  } })
  const { words } = await send('add', { passkey: made.toJSON() })
  button.hidden = true
  note.textContent = words
}
button.addEventListener('click', () => register().catch(failed))
`
