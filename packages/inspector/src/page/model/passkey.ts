import type { JsonObject } from '@bulkhead/kit/json'
import type { PasskeyDemand } from '../../protocol.ts'

/** Asks this browser for the signature of a person. Throws an Error for people if there is none. */
export async function passkeyFor({ challenge, relyingParty, credentials }: PasskeyDemand): Promise<JsonObject> {
  if (!('credentials' in navigator)) throw new Error('This browser has no passkeys. They need https, or http://localhost.')
  const found = await navigator.credentials.get({
    publicKey: {
      challenge: bytes(challenge), rpId: relyingParty, userVerification: 'required',
      allowCredentials: credentials.map((id) => ({ type: 'public-key', id: bytes(id) })),
    },
  }).catch((error: Error) => { throw new Error(WORDS[error.name] ?? `The browser refused the passkey: ${error.message}`) })
  if (!(found instanceof PublicKeyCredential)) throw new Error('No passkey was used.')
  return found.toJSON() as unknown as JsonObject
}

const WORDS: Readonly<Record<string, string>> = {
  // Browsers do not tell which of the two it was.
  NotAllowedError: 'It was cancelled, or no passkey of this browser fits. The call still waits.',
  SecurityError: 'The browser has no passkeys for this address.',
}

const bytes = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (char) => char.charCodeAt(0))
