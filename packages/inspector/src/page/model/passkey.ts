import type { JsonObject } from '@bulkhead/kit/json'
import type { PasskeyDemand } from '../../protocol.ts'

/** Asks this browser for the signature of a person. Throws if it is refused. */
export async function passkeyFor({ challenge, relyingParty, credentials }: PasskeyDemand): Promise<JsonObject> {
  const bytes = (text: string): Uint8Array<ArrayBuffer> =>
    Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (char) => char.charCodeAt(0))
  const found = await navigator.credentials.get({
    publicKey: {
      challenge: bytes(challenge), rpId: relyingParty, userVerification: 'required',
      allowCredentials: credentials.map((id) => ({ type: 'public-key', id: bytes(id) })),
    },
  }).catch((error: Error) => { throw new Error(`No passkey was used: ${error.message}`) })
  if (!(found instanceof PublicKeyCredential)) throw new Error('No passkey was used.')
  return found.toJSON() as unknown as JsonObject
}
